"""Each equation of the paper as a loop that one can hold beside the page. Slow on purpose."""
