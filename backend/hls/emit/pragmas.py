"""``#pragma HLS`` lines from the attributes and types of the core IR."""

from __future__ import annotations

from allo.dialects._mlir import ir
from allo.dialects.affine.asserted import Asserted
from allo.dialects.bindings import binding_of
from allo.dialects.core.partition import Partition, layout_of
from allo.dialects.memories import kinds_of

from ..vendors.tables import Vendor
from .attributes import has, integer

_UNROLL = {
    "xilinx": "#pragma HLS unroll",
    "catapult": "#pragma hls_unroll yes",
    "intel": "#pragma unroll",
    "xls": "#pragma hls_unroll yes",
}


def array_pragmas(vendor: Vendor, name: str, memref: ir.MemRefType) -> list[str]:
    """Partition and storage of an array."""
    if vendor.pragmas != "xilinx":
        return []
    return [*_partition(name, memref), *_storage(name, memref)]


def _partition(name: str, memref: ir.MemRefType) -> list[str]:
    if not memref.shape:
        return []
    lines = []
    for position, dim in enumerate(layout_of(memref).dims, start=1):
        if dim.kind is None or dim.extent == 1:
            continue
        head = f"#pragma HLS array_partition variable={name} {dim.kind.name.lower()} dim={position}"
        factor = "" if dim.kind is Partition.Complete else f" factor={dim.banks}"
        lines.append(head + factor)
    return lines


def _storage(name: str, memref: ir.MemRefType) -> list[str]:
    space = memref.memory_space
    if not isinstance(space, ir.IntegerAttr):
        return []
    resource, storage = kinds_of(int(space.value))
    if resource == "AUTO" and storage is None:
        return []
    kind = f" type={storage.lower()}" if storage else ""
    impl = f" impl={resource.lower()}" if resource != "AUTO" else ""
    return [f"#pragma HLS bind_storage variable={name}{kind}{impl}"]


def stream_pragmas(vendor: Vendor, name: str, depth: int) -> list[str]:
    """Depth of a FIFO."""
    if vendor.pragmas != "xilinx":
        return []
    return [f"#pragma HLS stream variable={name} depth={depth}"]


def deep_buffer_pragmas(vendor: Vendor, name: str, copies: int) -> list[str]:
    """How many copies of an array the iterations of a dataflow loop take in turn."""
    if vendor.pragmas != "xilinx":
        return []
    return [f"#pragma HLS stream variable={name} type=pipo depth={copies}"]


def lane_pragma(vendor: Vendor) -> str:
    """Complete unrolling of a loop over the lanes of a vector."""
    return _UNROLL[vendor.pragmas]


def loop_pragmas(vendor: Vendor, op: ir.Operation) -> list[str]:
    """Pipeline, unroll and dataflow of a loop, in this order, behind its head."""
    if vendor.pragmas != "xilinx":
        return []
    lines = []
    interval = integer(op, "pipeline_ii")
    if interval is not None:
        rewind = " rewind" if has(op, "rewind") else ""
        lines.append(f"#pragma HLS pipeline II={interval}{rewind}")
    factor = integer(op, "unroll")
    if factor is not None:
        lines.append(f"#pragma HLS unroll{f' factor={factor}' if factor > 0 else ''}")
    if has(op, "dataflow"):
        lines.append("#pragma HLS dataflow")
    return lines


def dependence_pragmas(vendor: Vendor, name: str, asserted: Asserted) -> list[str]:
    """What the user asserts of the iterations of a loop, which touch the array of this C++ name."""
    if vendor.pragmas != "xilinx":
        return []
    direction = "" if asserted.kind == "all" else f" direction={asserted.kind}"
    line = f"#pragma HLS dependence variable={name} type=inter{direction}"
    if asserted.distance:
        return [f"{line} distance={asserted.distance} dependent=true"]
    return [f"{line} dependent=false"]


_KINDS = {"arith.addf": "add", "arith.subf": "sub", "arith.mulf": "mul"}
_WITHOUT = ("arith.remf",)
"""Operations whose units the vendor's tool does not choose from."""
_LETTERS = {"f64": "d", "f32": "f", "f16": "h"}


def operation_pragmas(vendor: Vendor, name: str, op: ir.Operation) -> list[str]:
    """What an operation is made of, whose result has this C++ name.

    Packed products are a matter of the vendor's tool; they are asked for as multiplier blocks. Its tool has
    no unit for bfloat16.
    """
    impl = binding_of(op)
    if not impl or vendor.pragmas != "xilinx" or op.name in _WITHOUT:
        return []
    head = f"#pragma HLS bind_op variable={name}"
    if op.name not in _KINDS:
        return [f"{head} op=mul impl={'fabric' if impl == 'fabric' else 'dsp'}"]
    letter = _LETTERS.get(str(op.results[0].type))
    if letter is None:
        return []
    kind = letter + _KINDS[op.name]
    return [f"{head} op={kind} impl={'fabric' if impl == 'fabric' else 'fulldsp'}"]


def loop_heads(vendor: Vendor, op: ir.Operation) -> list[str]:
    """Lines before a loop's head, for vendors whose pragmas and attributes stand there."""
    interval, factor = integer(op, "pipeline_ii"), integer(op, "unroll")
    lines = []
    if vendor.pragmas == "catapult":
        if interval is not None:
            lines.append(f"#pragma hls_pipeline_init_interval {interval}")
        if factor is None and has(op, "parallel"):
            factor = 0
        if factor is not None:
            lines.append(f"#pragma hls_unroll {factor if factor > 0 else 'yes'}")
    if vendor.pragmas == "xls":
        if interval is not None:
            lines.append(f"#pragma hls_pipeline_init_interval {interval}")
        if factor is not None:
            lines.append("#pragma hls_unroll yes")
    if vendor.pragmas == "intel":
        if interval is not None:
            lines.append(f"[[intel::initiation_interval({interval})]]")
        if factor is not None:
            lines.append(f"#pragma unroll{f' {factor}' if factor > 0 else ''}")
    return lines


def function_pragmas(vendor: Vendor, op: ir.Operation) -> list[str]:
    """Dataflow and inline of a function, inside it."""
    if vendor.pragmas != "xilinx":
        return []
    names = ("inline",) if vendor.tasks else ("dataflow", "inline")
    return [f"#pragma HLS {name}" for name in names if has(op, name)]


def instance_pragmas(vendor: Vendor, names: list[str]) -> list[str]:
    """One hardware for each constant that the calls of a process give these parameters."""
    if vendor.pragmas != "xilinx" or vendor.tasks:
        return []
    return [f"#pragma HLS function_instantiate variable={name}" for name in names]


def function_heads(vendor: Vendor, op: ir.Operation, is_top: bool) -> list[str]:
    """Lines before a function's head."""
    if vendor.pragmas != "catapult":
        return []
    kinds = [kind for kind in ("dataflow", "inline") if has(op, kind)]
    return [f"#pragma hls_design {kind}" for kind in (["top"] if is_top else []) + kinds]
