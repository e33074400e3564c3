"""Writing vector instructions: a few verbs over LLVM's builder, in which a kernel reads like its formula."""

from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir
from numba.core import cgutils

FLOAT, INT, WORD = ir.FloatType(), ir.IntType(64), ir.IntType(32)
FLOATS, INTS = FLOAT.as_pointer(), INT.as_pointer()

# A row gathers the sums of up to this number of vectors.
ROW_LANES = 8
ROW = ir.VectorType(FLOAT, ROW_LANES)

# 2^r for r in [-1/2, 1/2], highest power first: interpolated at Chebyshev's points, relative error 1.0e-7.
POWER_OF_TWO = (0.0013390863, 0.0096760319, 0.0555035711, 0.2402210749, 0.6931471880, 1.0000000755)


class Emitter:
    """Writes vector code into one function."""

    def __init__(self, function: ir.Function, lanes: int) -> None:
        self.module = function.module
        self.builder = ir.IRBuilder(function.append_basic_block("entry"))
        self.lanes = lanes
        self.vector = ir.VectorType(FLOAT, lanes)

    def repeat(
        self, stop: Any, step: int, start: Sequence[Any], body: Callable[[Any, Sequence[Any]], Sequence[Any]]
    ) -> Sequence[Any]:
        """Run ``values = body(i, values)`` for i = 0, step, ... below `stop`, once at least; return the last values."""
        b = self.builder
        before, head, after = b.block, b.append_basic_block("loop"), b.append_basic_block("done")
        b.branch(head)
        b.position_at_end(head)
        index, values = b.phi(INT), [b.phi(value.type) for value in start]
        found = body(index, values)
        following = b.add(index, INT(step))
        for phi, first, last in zip([index, *values], [INT(0), *start], [following, *found], strict=True):
            phi.add_incoming(first, before)
            phi.add_incoming(last, b.block)
        b.cbranch(b.icmp_signed("<", following, stop), head, after)
        b.position_at_end(after)
        return found

    def load(self, pointer: Any, offset: Any) -> Any:
        """Return the vector at a float's place; tables are aligned to whole vectors."""
        place = self.builder.bitcast(self.builder.gep(pointer, [offset]), self.vector.as_pointer())
        return self.builder.load(place, align=4 * self.lanes)

    def store(self, value: Any, pointer: Any, offset: Any) -> None:
        """Write the vector to a float's place."""
        place = self.builder.bitcast(self.builder.gep(pointer, [offset]), self.vector.as_pointer())
        self.builder.store(value, place, align=4 * self.lanes)

    def prefetch(self, pointer: Any, offset: Any) -> None:
        """Ask for the cache line of a float's place."""
        emit_prefetch(self.builder, pointer, offset)

    def item(self, pointer: Any, offset: Any) -> Any:
        """Return the number at a place."""
        return self.builder.load(self.builder.gep(pointer, [offset]))

    def multiply_add(self, a: Any, b: Any, c: Any) -> Any:
        """Return a * b + c, rounded once where the processor can."""
        name = f"llvm.fmuladd.v{a.type.count}f32"
        function = cgutils.get_or_insert_function(self.module, ir.FunctionType(a.type, [a.type] * 3), name)
        return self.builder.call(function, [a, b, c])

    def shuffle(self, x: Any, y: Any, places: Sequence[int]) -> Any:
        """Return the lanes of x followed by y that `places` names."""
        mask = ir.Constant(ir.VectorType(WORD, len(places)), list(places))
        return self.builder.shuffle_vector(x, y, mask)

    def everywhere(self, number: Any, lanes: int) -> Any:
        """Return a vector with that number in every lane."""
        empty = ir.Constant(ir.VectorType(FLOAT, lanes), ir.Undefined)
        one = self.builder.insert_element(empty, number, WORD(0))
        return self.shuffle(one, empty, [0] * lanes)

    def add_neighbours(self, x: Any, y: Any) -> Any:
        """Return sums of adjacent lanes of x and of y, in groups of four lanes: two of x, two of y."""
        even = [side + group + i for group in range(0, self.lanes, 4) for side in (0, self.lanes) for i in (0, 2)]
        return self.builder.fadd(self.shuffle(x, y, even), self.shuffle(x, y, [i + 1 for i in even]))

    def sums(self, vectors: Sequence[Any]) -> Any:
        """Return a row whose lane k is the sum of vector k; a transposition and the additions at once."""
        v = [*vectors, *[constant(self.vector, 0.0)] * (ROW_LANES - len(vectors))]
        pairs = [self.add_neighbours(v[i], v[i + 1]) for i in range(0, ROW_LANES, 2)]
        x, y = self.add_neighbours(pairs[0], pairs[1]), self.add_neighbours(pairs[2], pairs[3])
        # Now lane 4g + k of x is part g of sum k, and of y part g of sum 4 + k.
        lanes = self.lanes
        while lanes > 4:
            half = range(lanes // 2)
            x, y = (
                self.builder.fadd(self.shuffle(z, z, half), self.shuffle(z, z, [i + lanes // 2 for i in half]))
                for z in (x, y)
            )
            lanes //= 2
        return self.shuffle(x, y, range(ROW_LANES))

    def sigmoid(self, x: Any) -> Any:
        """Return 1 / (1 + exp(-x)) of a row, relative error under 1e-6 of exp within ±87."""
        b = self.builder
        y = self.clamp(b.fmul(x, constant(x.type, -1.4426950408889634)), 126.0)
        # Adding 1.5 * 2^23 rounds to an integer n, and leaves it in the low bits.
        magic = constant(x.type, 12582912.0)
        shifted = b.fadd(y, magic)
        rest = b.fsub(y, b.fsub(shifted, magic))
        power = constant(x.type, POWER_OF_TWO[0])
        for coefficient in POWER_OF_TWO[1:]:
            power = self.multiply_add(power, rest, constant(x.type, coefficient))
        words = ir.VectorType(WORD, x.type.count)
        exponent = b.shl(b.bitcast(shifted, words), ir.Constant(words, [23] * x.type.count))
        exp = b.bitcast(b.add(b.bitcast(power, words), exponent), x.type)
        one = constant(x.type, 1.0)
        return b.fdiv(one, b.fadd(one, exp))

    def clamp(self, x: Any, limit: float) -> Any:
        """Return x within ±limit."""
        b = self.builder
        for sign, bound in ((">", constant(x.type, limit)), ("<", constant(x.type, -limit))):
            x = b.select(b.fcmp_ordered(sign, x, bound), bound, x)
        return x


def constant(vector: Any, number: float) -> Any:
    """Return the vector with that number in every lane."""
    return ir.Constant(vector, [number] * vector.count)


def emit_prefetch(builder: ir.IRBuilder, pointer: Any, offset: Any, *, to_write: bool = True) -> None:
    """Ask for the cache line of a number's place to be brought near; changes nothing.

    Not `to_write` where several threads read: a line that is asked for to be written to leaves the other cores.
    """
    byte = ir.IntType(8).as_pointer()
    kind = ir.FunctionType(ir.VoidType(), [byte, WORD, WORD, WORD])
    function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
    builder.call(
        function, [builder.bitcast(builder.gep(pointer, [offset]), byte), WORD(int(to_write)), WORD(3), WORD(1)]
    )
