"""The kinds of predictors, by the names that people give them."""

GAUSSIAN_PROCESS = "gaussian_process"
FOREST, BOOSTING = "forest", "boosting"
TREE_KINDS = (FOREST, BOOSTING)
KINDS = (GAUSSIAN_PROCESS, *TREE_KINDS)
