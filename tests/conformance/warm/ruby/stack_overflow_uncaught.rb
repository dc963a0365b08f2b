def down = down()
$stderr = File.open(File::NULL, "w")
down
