raise ""
