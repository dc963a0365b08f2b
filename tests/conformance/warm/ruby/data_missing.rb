begin
  DATA
rescue NameError => e
  puts e.message, e.backtrace
end
# __END__ in a comment
