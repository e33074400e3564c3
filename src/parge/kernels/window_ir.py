"""The window update of skip-gram as LLVM code, tiled for the registers of the processor (see docs/measured/kernel.md).

numba's own loops reach the full width of the vector units, but keep no tile of a matrix product in registers. Here the
instructions are written out, and numba's LLVM compiles them for the processor it finds.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from parge.kernels.vector_ir import FLOAT, FLOATS, INT, INTS, ROW, ROW_LANES, WORD, Emitter, constant, emit_prefetch

# Targets of a window, at most: its gradients for one context are one row.
MOST_TARGETS = ROW_LANES

# Contexts are read in tiles of at most this many: scratch arrays must have room for a tile more.
MOST_TILE = 4

# The targets of this many centres ahead are asked for while a window is trained: at 2, a row has the time of one to two
# windows (1 to 2 µs) to come from memory.
AHEAD = 2

# A cache line, in floats.
LINE = 16

# numba carries no types; an untyped decorator would untype what it decorates.
_intrinsic: Callable[[Callable[..., Any]], Any] = intrinsic


class Tile(NamedTuple):
    """How the products are cut: vectors of `lanes` floats, `contexts` x `targets` sums held in registers."""

    lanes: int
    contexts: int
    targets: int


def tile_for(features: str, targets: int, lanes: int | None = None) -> Tile:
    """Return the tile for a processor with these features, in LLVM's notation.

    The sums, a tile of contexts and one target must fit the registers: 32 of 16 lanes with AVX-512, 32 of 4
    with NEON, 16 of 8 with AVX.

    >>> tile_for("+avx,+avx2,-avx512f", 6), tile_for("+avx512f", 6), tile_for("", 2)
    (Tile(lanes=8, contexts=2, targets=6), Tile(lanes=16, contexts=4, targets=6), Tile(lanes=4, contexts=4, targets=2))
    """
    found = set(features.split(","))
    registers = 32 if found & {"+avx512f", "+neon"} else 16
    lanes = lanes or (16 if "+avx512f" in found else 8 if "+avx" in found else 4)
    fitting = [contexts for contexts in (4, 2) if contexts * (targets + 1) + 1 <= registers]
    return Tile(lanes, fitting[0] if fitting else 1, targets)


def emit_update(module: ir.Module, tile: Tile) -> ir.Function:
    """Add the function that trains one window, and return it.

    ``void update(In, Out, width, frozen, spare, contexts, n_contexts, targets, following, rate, g)``, where contexts
    and targets are offsets of rows in floats. Contexts continue for a tile beyond their number with any valid offset;
    `g` has a row of 8 for each of them. It does what `parge.kernels.skipgram.update_window` does. Rows from the offset
    `frozen` on do not learn: what they would become is written to the row at `spare`, which costs less than to ask at
    every store. `following` are targets of a later centre, which are asked for meanwhile.
    """
    name = f"parge_update_window_{'_'.join(map(str, tile))}"
    if name in module.globals:
        return module.globals[name]
    arguments = [FLOATS, FLOATS, INT, INT, INT, INTS, INT, INTS, INTS, FLOAT, FLOATS]
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), arguments), name)
    function.linkage = "internal"
    In, Out, width, frozen, spare, contexts, n_contexts, targets, following, rate, g = function.args
    e = Emitter(function, tile.lanes)
    offsets = [e.item(targets, INT(k)) for k in range(tile.targets)]
    rows = [e.builder.gep(Out, [offset]) for offset in offsets]

    def learning(offset: Any) -> Any:
        """Return where a row is written to."""
        return e.builder.select(e.builder.icmp_signed("<", offset, frozen), offset, spare)

    _emit_gradients(e, tile, In, rows, width, contexts, n_contexts, _slopes(e, offsets, rate), g)

    def meanwhile(d: Any) -> None:
        _emit_prefetch(e, tile, Out, width, following, d)

    written = [e.builder.gep(Out, [learning(offset)]) for offset in offsets]
    _emit_step(e, tile, In, rows, written, width, contexts, n_contexts, g, learning, meanwhile)
    e.builder.ret_void()
    return function


def _slopes(e: Emitter, offsets: Sequence[Any], rate: Any) -> tuple[Any, Any]:
    """Return rows a, b with gradient = a - b * sigmoid: rate where a target counts, and where it is the true one."""
    b = e.builder
    true = b.insert_element(constant(ROW, 0.0), rate, WORD(0))
    counted = true
    for k, offset in enumerate(offsets[1:], 1):
        # A negative that is the centre itself trains nothing.
        is_centre = b.icmp_signed("==", offset, offsets[0])
        counted = b.insert_element(counted, b.select(is_centre, FLOAT(0.0), rate), WORD(k))
    return true, counted


def _emit_gradients(
    e: Emitter, tile: Tile, In: Any, rows: Sequence[Any], width: Any, contexts: Any, n: Any, slopes: Any, g: Any
) -> None:
    """Write the gradient of every context and target to `g`, a tile of products at a time."""
    b = e.builder
    true, counted = slopes

    def of_tile(first: Any, _: Any) -> Sequence[Any]:
        places = [b.add(first, INT(i)) for i in range(tile.contexts)]
        mine = [b.gep(In, [e.item(contexts, place)]) for place in places]

        def multiply(d: Any, sums: Sequence[Any]) -> Sequence[Any]:
            a = [e.load(row, d) for row in mine]
            out = list(sums)
            for k, row in enumerate(rows):
                t = e.load(row, d)
                for i in range(tile.contexts):
                    out[i * tile.targets + k] = e.multiply_add(a[i], t, out[i * tile.targets + k])
            return out

        zero = constant(e.vector, 0.0)
        sums = e.repeat(width, tile.lanes, [zero] * (tile.contexts * tile.targets), multiply)
        for i, place in enumerate(places):
            sigmoid = e.sigmoid(e.sums(sums[i * tile.targets : (i + 1) * tile.targets]))
            gradient = b.fsub(true, b.fmul(counted, sigmoid))
            where = b.gep(g, [b.mul(place, INT(MOST_TARGETS))])
            b.store(gradient, b.bitcast(where, ROW.as_pointer()), align=4)
        return []

    e.repeat(n, tile.contexts, [], of_tile)


def _emit_prefetch(e: Emitter, tile: Tile, Out: Any, width: Any, following: Any, d: Any) -> None:
    """Ask for a share of the rows `following`, that of the slice at d; all slices together ask for every line once.

    At once, 8 lines of 6 rows would be more than a core can wait for (24 on Zen 3), and block its other loads. Spread
    over the slices, youtube-groups at window 5 rose from 26 to 31 GFLOP/s. Slices are half a line with 8 lanes: the
    first half of them asks for the first half of the rows, two lines at a time.
    """
    b = e.builder
    groups = max(1, LINE // tile.lanes)
    size = -(-tile.targets // groups)
    place, first = b.mul(d, INT(groups)), INT(0)
    for _ in range(groups - 1):
        is_past = b.icmp_signed(">=", place, width)
        place = b.select(is_past, b.sub(place, width), place)
        first = b.select(is_past, b.add(first, INT(size)), first)
    for j in range(size):
        k = b.add(first, INT(j))
        k = b.select(b.icmp_signed("<", k, INT(tile.targets)), k, INT(tile.targets - 1))
        e.prefetch(Out, b.add(e.item(following, k), place))


def _emit_step(
    e: Emitter,
    tile: Tile,
    In: Any,
    rows: Sequence[Any],
    written: Sequence[Any],
    width: Any,
    contexts: Any,
    n: Any,
    g: Any,
    learning: Callable[[Any], Any],
    meanwhile: Callable[[Any], None],
) -> None:
    """Apply the gradients, a vector's width of all rows at a time: targets and their sums stay in registers."""
    b = e.builder

    def of_slice(d: Any, _: Any) -> Sequence[Any]:
        meanwhile(d)
        t = [e.load(row, d) for row in rows]

        def of_context(i: Any, sums: Sequence[Any]) -> Sequence[Any]:
            offset = e.item(contexts, i)
            row = b.gep(In, [offset])
            slopes = b.gep(g, [b.mul(i, INT(MOST_TARGETS))])
            a = e.load(row, d)
            out = []
            # Two chains of additions to the context's vector: one would wait for itself.
            chains = [a, None]
            for k in range(tile.targets):
                slope = e.everywhere(e.item(slopes, INT(k)), tile.lanes)
                out.append(e.multiply_add(slope, a, sums[k]))
                chain = chains[k % 2]
                chains[k % 2] = b.fmul(slope, t[k]) if chain is None else e.multiply_add(slope, t[k], chain)
            e.store(b.fadd(*chains), b.gep(In, [learning(offset)]), d)
            return out

        sums = e.repeat(n, 1, [constant(e.vector, 0.0)] * tile.targets, of_context)
        # Read again, not from t: a target may repeat, or be a context where both tables are one.
        for row, place, change in zip(rows, written, sums, strict=True):
            e.store(b.fadd(e.load(row, d), change), place, d)
        return []

    e.repeat(width, tile.lanes, [], of_slice)


def make_update(lanes: int | None = None) -> Any:
    """Return the update as a function for compiled code; `lanes` overrides the processor's own.

    ``update(In, Out, n_free, contexts, n_contexts, targets, i, slots, rate, g)`` trains the targets in row i of
    `targets`, and has those of a later row brought near. Rows from `n_free` on do not learn; where there are any, the
    last row of both tables is of no vertex.
    How many there are must be known when it is compiled: as many as `slots`, a tuple of integers, is long.
    The arrays themselves are passed, not their addresses, so that numba keeps them alive.
    """

    @_intrinsic
    def update(
        _: Any,
        In: Any,
        Out: Any,
        n_free: Any,
        contexts: Any,
        n_contexts: Any,
        targets: Any,
        i: Any,
        slots: Any,
        rate: Any,
        g: Any,
    ) -> Any:
        number = types.int64
        signature = types.void(In, Out, number, contexts, number, targets, number, slots, types.float32, g)

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            n_targets = len(signature.args[7])
            tile = tile_for(context.codegen().magic_tuple()[2], n_targets, lanes)
            function = emit_update(builder.module, tile)
            arrays = {k: context.make_array(signature.args[k])(context, builder, arguments[k]) for k in (0, 1, 3, 5, 9)}
            n_rows, width = (builder.extract_value(arrays[0].shape, axis) for axis in (0, 1))
            frozen, spare = (builder.mul(row, width) for row in (arguments[2], builder.sub(n_rows, INT(1))))
            last = builder.sub(builder.extract_value(arrays[5].shape, 0), INT(1))
            later = builder.add(arguments[6], INT(AHEAD))
            later = builder.select(builder.icmp_signed("<", later, last), later, last)
            mine, following = (
                builder.gep(arrays[5].data, [builder.mul(row, INT(n_targets))]) for row in (arguments[6], later)
            )
            tables = [arrays[0].data, arrays[1].data, width, frozen, spare]
            windows = [arrays[3].data, arguments[4], mine, following, arguments[8], arrays[9].data]
            builder.call(function, tables + windows)
            return context.get_dummy_value()

        return signature, generate

    return update


update_window = make_update()


@_intrinsic
def prefetch_row(_: Any, table: Any, offset: Any) -> Any:
    """Ask for a row of a table, given by its offset in floats, to be brought near; changes nothing."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        row = builder.gep(array.data, [arguments[1]])
        width = builder.extract_value(array.shape, 1)
        with cgutils.for_range_slice(builder, INT(0), width, INT(LINE), inc=True) as (d, _):
            emit_prefetch(builder, row, d)
        return context.get_dummy_value()

    return types.void(table, types.int64), generate
