p $DEBUG
$DEBUG = true
begin
  raise "seen by -d"
rescue
end
$DEBUG = false
