"""Every compiled function has a slow, obvious twin in `naive.py`, or shares that of what calls it."""

import ast
from pathlib import Path

from tests.kernels import naive, naive_cut, naive_labels, naive_prices

import parge.kernels

FOLDER, HERE = Path(parge.kernels.__file__).parent, Path(__file__).parent

# Each compiled function: its twin in naive.py; a plainer kernel that has one; or the caller whose twin is its, too.
TWINS: dict[str, str] = {
    "walks.draw_item": "shared with walks.draw_items",
    "walks.draw_items": "naive.draw_item",
    "walks._fill": "naive.alias_probabilities",
    "codes._slot": "shared with codes.encode",
    "codes._grown": "shared with codes.encode",
    "codes.encode": "naive.encode",
    "codes.decode": "naive.encode",
    "cut.component_roots": "naive_cut.component_roots",
    "labels.favourite_labels": "naive_labels.favourite",
    "labels.packed": "naive_labels.packs",
    "labels.hash_texts": "naive_labels.text_hash",
    "meetings.walk_meetings": "naive.walk_meetings",
    "csr.bucket_sizes": "naive.bucketed_arcs",
    "csr.bucket_arcs": "naive.bucketed_arcs",
    "csr.sort_arcs": "naive.sorted_arcs",
    "csr.rows_of_arcs": "naive.rows_of_arcs",
    "csr.induced_offsets": "naive.induced_rows",
    "csr.induced_rows": "naive.induced_rows",
    "cut.count_edges": "naive_cut.count_edges",
    "cut.count_lost": "naive_cut.count_edges",
    "cut.cut_degrees": "naive_cut.part_votes",
    "cut.greedy_cover": "naive_cut.greedy_cover",
    "cut.majority_part": "naive_cut.majority_part",
    "cut.part_votes": "naive_cut.part_votes",
    "cut.marked_neighbours": "naive_cut.marked_neighbours",
    "cut.saved_alone": "naive_prices.saved_alone",
    "cut.relieve": "naive_prices.relieve",
    "fennel._best_part": "shared with fennel.stream_rows",
    "fennel.stream_rows": "naive_cut.stream_rows",
    "fennel.edges_among": "naive_cut.marked_neighbours",
    "prices.level_of": "naive_prices.level",
    "prices.value_of": "naive_prices.SCALE",
    "prices.count_votes": "naive_prices.in_part",
    "prices.wish_rows": "naive_prices.wish",
    "prices.move_vertices": "naive_prices.in_part",
    "prices.clear_prices": "naive_prices.prices",
    "prices.claim_rows": "naive_prices.claim",
    "prices._hashed": "shared with prices.confirm_rows",
    "prices._before": "shared with prices.confirm_rows",
    "prices.confirm_rows": "naive_prices.confirmed",
    "prices.admit_bins": "naive_prices.admitted",
    "products.add_rows": "shared with products.sum_neighbours",
    "products.add_weighted_rows": "shared with products.sum_neighbours",
    "products.sum_neighbours": "naive.sum_neighbours",
    "products.sum_around": "naive.sum_around",
    "products.step_rows": "naive.step_rows",
    "products.unit_rows": "naive.unit_rows",
    "products.mix_neighbours": "naive.mean_neighbours",
    "products.mean_neighbours": "naive.mean_neighbours",
    "products.shift_floored": "naive.shift_floored",
    "csr.merged_size": "naive.quotient",
    "csr.link_chance": "shared with csr.thinned_rows",
    "csr.is_link": "shared with csr.thinned_rows",
    "csr.quotient_rows": "naive.quotient",
    "csr.thinned_rows": "naive.thinned",
    "csr.is_merged": "shared with csr.joined_rows",
    "csr.joined_rows": "naive.joined",
    "csr.quotient_matrix": "naive.quotient",
    "csr.thinned_block": "csr.thinned_rows",
    "skipgram.update_window": "naive.update",
    "skipgram.draw_targets": "shared with skipgram.train_walks",
    "skipgram.window_around": "shared with skipgram.train_walks",
    "skipgram.train_walks": "naive.train",
    "skipgram_ir.draw_walk": "shared with skipgram_ir.train_walks",
    "skipgram_ir.train_walks": "skipgram.train_walks",
    "splitmix.mix": "naive.mix",
    "splitmix.open_stream": "naive.stream",
    "splitmix.item_keys": "naive.item_key",
    "splitmix.high": "naive.halves",
    "splitmix.low": "naive.halves",
    "splitmix.below": "naive.below",
    "splitmix.fill_uniform": "naive.uniform_rows",
    "walks.row_shares": "naive.row_shares",
    "walks.share_end": "shared with walks.row_shares",
    "walks.end_of": "shared with walks.share_of",
    "walks.count_stored": "naive.stored_shares",
    "walks.fill_rows_with_loops": "naive.with_loops",
    "walks.strengths": "naive.strengths",
    "walks.pick": "naive.pick",
    "walks.find": "naive.find",
    "walks.share_of": "naive.share",
    "walks.fill_walks": "naive.walk",
    "walks.bias": "naive.bias",
    "walks.weigh_row": "naive.second_order",
    "walks.second_order_step": "naive.biased_step",
    "walks.fill_biased_walks": "naive.biased_walk",
}

# Kernels that tests reach through a plain function.
CALLED_THROUGH = {"walks._fill": "walks.alias_table", "skipgram_ir.train_walks": "skipgram_ir.train"}


def compiled_functions() -> dict[str, ast.FunctionDef]:
    """Return the functions under one of the decorators of `kernels/jit.py`, by module and name."""
    found = {}
    for path in sorted(FOLDER.glob("*.py")):
        for item in ast.walk(ast.parse(path.read_text())):
            if isinstance(item, ast.FunctionDef) and {"kernel", "fast_kernel"} & {
                ast.unparse(decorator) for decorator in item.decorator_list
            }:
                found[f"{path.stem}.{item.name}"] = item
    return found


def names_used(text: str) -> set[str]:
    """Return all names in a source, and all attributes of names, as "name.attribute"."""
    nodes = list(ast.walk(ast.parse(text)))
    names = {node.id for node in nodes if isinstance(node, ast.Name)}
    return names | {ast.unparse(node) for node in nodes if isinstance(node, ast.Attribute)}


def test_every_compiled_function_is_listed_with_its_twin() -> None:
    assert set(TWINS) == set(compiled_functions())


def test_every_twin_is_there_and_meets_its_kernel_in_a_test() -> None:
    tests = {path: names_used(path.read_text()) for path in HERE.glob("test_*.py")}
    for kernel, twin in TWINS.items():
        if twin.startswith("shared with "):
            continue
        assert twin in TWINS or _is_there(twin), twin
        called = CALLED_THROUGH.get(kernel, kernel)
        known_as = {called, called.partition(".")[2]}  # its module imported, or the function itself
        meets = [path for path, names in tests.items() if twin in names and known_as & names]
        assert meets, f"no test of tests/kernels uses both {kernel} and {twin}"


def _is_there(twin: str) -> bool:
    module, _, name = twin.partition(".")
    modules = {"naive": naive, "naive_cut": naive_cut, "naive_labels": naive_labels, "naive_prices": naive_prices}
    return hasattr(modules[module], name)


def test_a_shared_twin_is_that_of_a_caller() -> None:
    functions = compiled_functions()
    for kernel, twin in TWINS.items():
        if twin.startswith("shared with "):
            caller = twin.removeprefix("shared with ")
            assert not TWINS[caller].startswith("shared with "), kernel
            assert kernel.partition(".")[2] in names_used(ast.unparse(functions[caller])), f"{caller} calls no {kernel}"
