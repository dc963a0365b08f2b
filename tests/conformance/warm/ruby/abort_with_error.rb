begin
  raise "original"
rescue
  abort
end
