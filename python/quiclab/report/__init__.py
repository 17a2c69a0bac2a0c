"""What is drawn and written of studies: tables, figures, pages, archives."""
