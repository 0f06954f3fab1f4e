"""The C++ around a Verilated model: seven functions with C linkage."""

from __future__ import annotations

from collections.abc import Sequence

PREFIX = "Vmodel"

_COMMON_WORDS = ("interrupt",)
"""Names of ports of ours that Verilator keeps from C++ under others."""
_TRACE_CLASS = {"vcd": "VerilatedVcdC", "fst": "VerilatedFstC"}

_TEMPLATE = """\
#include "{prefix}__Syms.h"
#include "verilated_syms.h"

struct AlloModel {{
    std::unique_ptr<VerilatedContext> context;
    {prefix} top;
{members}
    explicit AlloModel(VerilatedContext* made) : context(made), top(made, "TOP") {{}}
}};

extern "C" void* allo_new(int seed) {{
    auto* context = new VerilatedContext;
    context->randReset(seed ? 2 : 0);
    if (seed) context->randSeed(seed);
    auto* model = new AlloModel(context);
{configure}
    return model;
}}

extern "C" void allo_delete(void* handle) {{
    auto* model = static_cast<AlloModel*>(handle);
    // A model leaves the thread's context, not its own; that may be of an instance deleted before.
    Verilated::threadContextp(model->context.get());
    model->top.final();
    delete model;
    Verilated::threadContextp(nullptr);
}}

extern "C" void allo_eval(void* handle) {{
    auto* model = static_cast<AlloModel*>(handle);
    model->top.eval();
{dump}
}}

// All that the model keeps: its symbol table holds the state of every instance.
extern "C" void* allo_state(void* handle, size_t* size) {{
    *size = sizeof({prefix}__Syms);
    return static_cast<AlloModel*>(handle)->top.rootp->vlSymsp;
}}

extern "C" unsigned long long allo_signal(void* handle, const char* scope, const char* name) {{
    auto* found = static_cast<AlloModel*>(handle)->context->scopeFind(scope);
    auto* variable = found ? found->varFind(name) : nullptr;
    if (!variable) return 0;
    switch (variable->vltype()) {{
    case VLVT_UINT8: return *static_cast<CData*>(variable->datap());
    case VLVT_UINT16: return *static_cast<SData*>(variable->datap());
    case VLVT_UINT32: return *static_cast<IData*>(variable->datap());
    default: return 0;
    }}
}}

extern "C" void allo_ports(void* handle, void** addresses) {{
    auto& root = *static_cast<AlloModel*>(handle)->top.rootp;
{ports}
}}
"""

_WAVE = """
extern "C" void allo_begin_wave(void* handle, const char* file) {
    auto* model = static_cast<AlloModel*>(handle);
    model->trace.open(file);
    model->open = true;
}

extern "C" void allo_end_wave(void* handle) {
    auto* model = static_cast<AlloModel*>(handle);
    model->open = false;
    model->trace.close();
}
"""

# A half period of 5 ns: with the usual picosecond precision, 5000 units.
_DUMP = """\
    if (model->open) model->trace.dump(model->context->time());
    model->context->timeInc(5000);"""


def wrapper_text(ports: Sequence[str], wave: str) -> str:
    """The wrapper of a model: ``allo_ports`` gives the addresses of ``ports`` in order."""
    lines = [
        f"    addresses[{number}] = &root.{verilated_name(name)};"
        for number, name in enumerate(ports)
    ]
    text = _TEMPLATE.format(
        prefix=PREFIX,
        members=f"    {_TRACE_CLASS[wave]} trace;\n    bool open = false;" if wave else "",
        configure="    model->context->traceEverOn(true);\n    model->top.trace(&model->trace, 99);"
        if wave
        else "",
        dump=_DUMP if wave else "",
        ports="\n".join(lines),
    )
    return text + (_WAVE if wave else "")


def verilated_name(name: str) -> str:
    """The C++ member name Verilator gives a port."""
    plain = name.replace("__", "___05F")
    return f"__SYM__{plain}" if plain in _COMMON_WORDS else plain
