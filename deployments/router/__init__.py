"""The live host of the dispatcher: its workers, its answers, its link to the controller, and what it measures."""
