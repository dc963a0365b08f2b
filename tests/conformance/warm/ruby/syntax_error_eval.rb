begin
  eval "1 +"
rescue SyntaxError => e
  puts e.message
end
eval("def (", binding, "given.rb", 40)
