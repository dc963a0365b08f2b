begin
  begin
    Integer("x")
  rescue => e
    raise KeyError, "second"
  end
rescue => e
  raise "third"
end
