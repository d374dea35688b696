"""How accurate variants are on labelled data: metrics, intervals, and the file of what was measured."""
