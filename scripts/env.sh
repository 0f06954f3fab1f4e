# Sourced by the scripts: where the environment is, and how to reach its parts.

ALLO_ROOT="$(dirname -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")")"
ALLO_VENV="${ALLO_VENV:-$ALLO_ROOT/.venv}"
UV_PIN="0.13.8"
PYTHON_PIN="3.12"

say() { printf '\033[2m[setup]\033[0m %s\n' "$*" >&2; }
die() { printf '[setup] error: %s\n' "$*" >&2; exit 1; }

# The uv that the set-up put into the environment, or the user's own.
find_uv() {
    if [[ -x "$ALLO_VENV/tools/bin/uv" ]]; then
        echo "$ALLO_VENV/tools/bin/uv"
    else
        command -v uv
    fi
}

# Sets the environment up if need be and enters it: `python` and the tools are then on PATH
# (Verilator's scripts ask for a `python`), and `allo` imports from this tree. Python keeps the bytecode of the
# tree, whatever the caller set: to compile 250 files anew would make each start twice as long.
enter_environment() {
    "$ALLO_ROOT/scripts/setup"
    export ALLO_VENV VIRTUAL_ENV="$ALLO_VENV"
    export PATH="$ALLO_VENV/bin:$PATH"
    unset PYTHONHOME PYTHONPATH PYTHONDONTWRITEBYTECODE
}
