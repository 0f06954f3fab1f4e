"""Reports and projects: figures, tables, pages, folders."""
