puts <<~ONE + <<-'TWO'
  indented #{1 + 1}
    more
ONE
  raw #{1}
  TWO
b = binding
b.local_variable_set(:z, 5)
p b.eval("z + 1"), eval("[__FILE__, __LINE__]"), eval("[__FILE__, __LINE__]", b, "f", 9), b.local_variables
Class.new.class_eval("def x; raise 'in eval'; end; new.x", "made_up.rb", 77)
