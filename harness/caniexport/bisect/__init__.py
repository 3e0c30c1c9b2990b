"""The first release along one axis that changed a cell: known rows first, then environments made and removed."""
