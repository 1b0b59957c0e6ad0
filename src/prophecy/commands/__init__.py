"""The commands, with a function of the same name each; the rest of its docstring stands below its options."""
