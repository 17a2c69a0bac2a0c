"""Output of studies: tables, figures, HTML reports, archives."""
