"""Plans: their model, their JSON form, the text they are read from, and its problems."""
