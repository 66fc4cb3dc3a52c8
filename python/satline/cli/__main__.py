"""`python -m satline.cli` is the program `satline`."""

from satline.cli import main

if __name__ == "__main__":
    main()
