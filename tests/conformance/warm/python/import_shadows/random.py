MINE = "own random"
