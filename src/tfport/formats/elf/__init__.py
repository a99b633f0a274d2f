"""ELF shared libraries: headers, symbols, versions and machine code. None of them is loaded."""
