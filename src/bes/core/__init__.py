"""The paper: every equation has one home here. Never imports a graph library."""
