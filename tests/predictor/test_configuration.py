from predictor.configuration import Configuration


def test_the_degree_is_the_number_of_variants_also_of_equal_ones() -> None:
    assert Configuration("m", ("a",)).degree == 1
    assert Configuration("m", ("a", "b", "a")).degree == 3


def test_ordered_is_the_same_for_every_order_and_keeps_what_is_there_twice() -> None:
    assert Configuration("m", ("b", "a", "b")).ordered == Configuration("m", ("b", "b", "a")).ordered
    assert Configuration("m", ("b", "a", "b")).ordered.variants == ("a", "b", "b")
    assert Configuration("m", ("a", "b")).ordered != Configuration("n", ("a", "b")).ordered


def test_beside_a_variant_are_the_others_its_double_among_them() -> None:
    configuration = Configuration("m", ("a", "b", "a"))
    assert [configuration.beside(position) for position in range(3)] == [("b", "a"), ("a", "a"), ("a", "b")]
