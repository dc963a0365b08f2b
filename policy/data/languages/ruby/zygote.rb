# The Ruby half of a zygote: an interpreter that has started already.
#
# Ruby was started as for any program, and sandglass-zygote-ruby.so holds it
# just before it would parse the program's file. The library evaluates this text
# in a module without a name, once, and calls
#
#   get_ready(main, features, name, analyser)
#                                     in the zygote, returns libraries to load
#   program_descriptor                where Ruby has the program's file open
#   rehearse                          in a child, before there is a program
#   look(sources)                     in a child of that, which then ends
#   begin_program                     in a child, when its file is there
#
# The analyser is the text after the last line of this file: analyse_*.rb.
# Then it lets Ruby go on, which knows nothing of all this. What is loaded here
# a program would see, because in Ruby all constants are global. So nothing is:
# the code of features is kept, compiled, and Ruby finds it when a program
# requires one.
module_function

def get_ready(main, features, name, analyser)
  main.singleton_class.send(:remove_method, :require)
  @program = ObjectSpace.each_object(File).find do |file|
    !file.closed? && file.path == name
  end
  # Ruby has looked at the first character, and will read on from here.
  @program.rewind
  files, specifications = find_files(features)
  libraries, sources = files.partition { |path| path.end_with?(".so") }
  keep_code(sources.select { |path| File.file?(path) })
  specifications.each { |path| Gem::Specification.load(path) }
  @analyser = RubyVM::InstructionSequence.compile(
    analyser.force_encoding(Encoding::UTF_8), "analyse.rb"
  )
  2.times { rehearse }
  # What is old is not looked at by the collections of a child, which would copy
  # its pages.
  4.times { GC.start }
  libraries.select { |path| File.file?(path) }
end

def program_descriptor = @program.fileno

# What the features' files are, and the gems' that have them. Told by a process
# that is gone afterwards.
def find_files(features)
  reader, writer = IO.pipe
  child = Process.fork do
    reader.close
    before = $LOADED_FEATURES.dup
    features.each do |feature|
      require feature
    rescue Exception => error
      $stderr.puts("preload #{feature}: #{error.class}: #{error.message}")
    end
    gems = Gem.loaded_specs.values.map(&:loaded_from)
    writer.write(Marshal.dump([$LOADED_FEATURES - before, gems]))
    writer.close
    exit!(0)
  end
  writer.close
  result = Marshal.load(reader.read)
  reader.close
  # Leaves $? as it is.
  Process::Status.wait(child)
  result
end

# Compiles files as `require` does, and lets it find the code.
def keep_code(paths)
  kept = {}
  paths.each do |path|
    compiled = TracePoint.new(:script_compiled) do |point|
      kept[path] = point.instruction_sequence
      throw :compiled
    end
    catch(:compiled) { compiled.enable { load(path) } }
  rescue SyntaxError
    nil
  end
  RubyVM::InstructionSequence.define_singleton_method(:load_iseq) do |path|
    # A program's own way to load is asked in its place: it replaces this.
    kept.delete(path)
  end
end

def rehearse
  streams = $stdout, $stderr
  null = File.open(File::NULL, "w")
  $stdout = $stderr = null
  evaluate(REHEARSAL)
rescue StandardError
  # What doesn't work here is for a program to find.
  nil
ensure
  $stdout, $stderr = streams
  null&.close
end

def evaluate(text) = Module.new.module_eval(text, "main.rb")

# Facts about [path, text] pairs. Defines classes, and so is for a process that no
# program will see.
def look(sources)
  # RubyGems would ask all gems for it first.
  Kernel.send(:alias_method, :require, :gem_original_require)
  @analyser.eval
  TOPLEVEL_BINDING.receiver.send(:facts_of, sources)
end

# Ruby has read the first line of another file. What it does with that of this
# one is done here; 1 where only Ruby itself can do it, at its start.
def begin_program
  return 0 unless @program.getbyte == 35 && @program.getbyte == 33
  line = @program.gets
  # What Ruby itself leaves there after such a line; 3.1 leaves 1.
  $. = 0 if RUBY_VERSION >= "3.3"
  at = line&.index("ruby")
  return 1 if !at || line.end_with?("\r\n") || line.index(" -", at)
  @program.ungetbyte("!\n")
  @program.ungetbyte(35)
  0
ensure
  @program.rewind unless line
end

self
__END__
