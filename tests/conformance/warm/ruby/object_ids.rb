# These are counted from the start.
p Object.new.object_id, "x".object_id, nil.object_id, true.object_id, 1.object_id
a = Object.new
p a.object_id == a.object_id, ObjectSpace._id2ref(a.object_id).equal?(a)
p Object.new.object_id, { Object.new => 1 }.size, Object.new.object_id
