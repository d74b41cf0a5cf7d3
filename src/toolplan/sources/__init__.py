"""Where tools come from: Python functions, files and modules, and the built-in tool `sql`."""
