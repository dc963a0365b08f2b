# Looks at one program's trees.
class Analyser
  IMPORTS = %w[require require_relative load autoload].freeze
  EXITS = %w[raise fail throw exit exit! abort exec Process.exit Process.exit!
             Process.abort Process.exec Fiber.yield Thread.exit].freeze
  METHOD_OBJECTS = %w[method public_method instance_method singleton_method].freeze
  OPENS = %w[open File.open File.new IO.open IO.sysopen].freeze
  WRITES = %w[File.write File.binwrite IO.write IO.binwrite File.truncate].freeze
  # Their blocks run elsewhere.
  APART = %w[lambda proc Proc.new Thread.new Thread.start Thread.fork Fiber.new
             Enumerator.new define_method at_exit trap fork].freeze
  NEVER = Float::INFINITY

  def initialize(facts, names)
    @facts, @names = facts, names
    @inside = ""
    # What a jump can leave, innermost last: the lowest of them that one leaves.
    @frames = []
  end

  def look_at(file, lines, tree, root)
    @file, @lines, @tree = file, lines, tree
    look(root)
  end

  private

  def look(node)
    return unless node.is_a?(Array)
    kind = node[0]
    return if kind.is_a?(Symbol) && kind.start_with?("@")
    case kind
    when :command then call(nil, node[1], node[2], node)
    when :command_call then call(node[1], node[3], node[4], node)
    when :method_add_arg then called(node[1], node[2], node)
    when :call, :fcall, :vcall then called(node, nil, node)
    when :method_add_block then with_block(node)
    when :var_ref, :const_path_ref, :top_const_ref then mention(node)
    when :xstring_literal
      tell("use", node[2], "`")
      look(node[1])
    when :assign
      look(node[1]) unless node[1][0] == :var_field
      look(node[2])
      @names.assign(node[1], node[2])
    when :alias then alias_of(node[2])
    when :class, :module then definition(node)
    when :def, :defs, :sclass, :lambda then apart { all(node.drop(1)) }
    when :while, :until, :while_mod, :until_mod then while_loop(node)
    when :for then framed { all(node.drop(1)) }
    when :break
      jump(@frames.size - 1)
      all(node.drop(1))
    when :return, :return0, :yield, :yield0
      jump(0)
      all(node.drop(1))
    when :binary
      # The yielder of an enumerator is given its values so.
      jump(0) if @generator && node[2] == :<<
      all(node.drop(1))
    else all(node)
    end
  end

  def all(nodes)
    nodes.each { |node| look(node) }
  end

  def tell(kind, place, name, detail = "")
    @facts.tell(kind, @file, place, name, detail)
  end

  # Where the first word of an expression is.
  def place_of(node)
    while node.is_a?(Array)
      return node[2] if node[0].is_a?(Symbol) && node[0].start_with?("@")
      node = node.find { |part| part.is_a?(Array) && !part.empty? }
    end
    [1, 0]
  end

  def definition(node)
    outside, @inside = @inside, node[1].last[1]
    look(node[2]) if node[0] == :class
    apart { look(node.last) }
    @inside = outside
  end

  def mention(node)
    name = @names.constant(node)
    if name
      tell("use", place_of(node), name) unless node[0] == :var_ref && node[1][0] != :@const
    elsif node[0] == :const_path_ref
      look(node[1])
    end
  end

  # Calls.

  # A call whose arguments are beside it.
  def called(head, given, node)
    case head[0]
    when :call then call(head[1], head[3], given, node)
    when :fcall, :vcall then call(nil, head[1], given, node)
    else
      look(head)
      look(given)
    end
  end

  def call(receiver, word, given, node)
    # proc.() has no name.
    word = [:@ident, "call", place_of(receiver)] unless word.is_a?(Array)
    place = receiver && @names.constant(receiver) ? place_of(receiver) : word[2]
    name = tell_call(receiver, word[1], place, @names.arguments(given))
    look(receiver) if receiver && !@names.constant(receiver)
    look(given)
    name
  end

  # The name that a call is told by; nil for the program's own.
  def full_name(receiver, word)
    return @names.method_of_program?(word, @inside) ? nil : word if receiver.nil? || itself?(receiver)
    constant = @names.constant(receiver)
    return @names.own_class?(receiver) ? nil : "?.#{word}" if constant.nil?
    constant == "Kernel" ? word : "#{constant}.#{word}"
  end

  # send() reaches what is private, too, and Kernel's functions are in all objects.
  def kernels_own?(receiver, word)
    return false unless Kernel.private_method_defined?(word)
    constant = @names.constant(receiver)
    constant.nil? || constant.include?("::") || !Object.const_defined?(constant) ||
      !Object.const_get(constant).respond_to?(word)
  end

  def itself?(node)
    node[0] == :var_ref && node[1] == [:@kw, "self", node[1][2]]
  end

  def tell_call(receiver, word, place, given)
    text = @names.text_of(given[0])
    if Names::SENDS.include?(word) && text
      receiver = nil if kernels_own?(receiver, text)
      return tell_call(receiver, text, place, given.drop(1))
    end
    if METHOD_OBJECTS.include?(word) && text
      name = full_name(receiver, text)
      return name && tell_name(name, place)
    end
    alias_of(given[1]) if word == "alias_method"
    name = full_name(receiver, word)
    return nil if name.nil?
    tell_name(name, place)
    imported(name, place, given)
    opened(name, place, given)
    jump(0) if EXITS.include?(name) || name == "?.yield"
    name
  end

  def tell_name(name, place)
    tell("use", place, name)
    name
  end

  def alias_of(node)
    name = @names.text_of(node)
    return if name.nil? || @names.method_of_program?(name, @inside)
    tell("use", place_of(node), name)
  end

  def imported(name, place, given)
    return unless IMPORTS.include?(name) && (what = given[name == "autoload" ? 1 : 0])
    text = @names.text_of(what)
    text ? tell("import", place, text) : tell("import-unknown", place, name)
  end

  def opened(name, place, given)
    return tell("open-write", place, name) if WRITES.include?(name)
    return unless OPENS.include?(name)
    tell("use", place, "IO.popen") if name == "open" && pipe?(given[0])
    mode = given[1]
    mode = option(mode, "mode:") if mode && mode[0] == :bare_assoc_hash
    return if mode.nil?
    text = @names.text_of(mode)
    if text
      tell("open-write", place, name, text) if text.split(":")[0].to_s.match?(/[wa+]/)
    else
      by_flags(name, place, mode)
    end
  end

  # open("|command")
  def pipe?(node)
    return false unless node.is_a?(Array) && node[0] == :string_literal
    first = node[1][1]
    first.is_a?(Array) && first[0] == :@tstring_content && first[1].start_with?("|")
  end

  def option(hash, label)
    hash[1].find { |pair| pair[0] == :assoc_new && pair[1][1] == label }&.at(2)
  end

  # File::WRONLY | File::CREAT
  def by_flags(name, place, mode)
    words = []
    parts = [mode]
    while (part = parts.pop)
      case part[0]
      when :binary then parts.push(part[3], part[1])
      when :const_path_ref then words << part[2][1]
      when :@int then words << part[1]
      else words << nil
      end
    end
    return if words.all? { |word| %w[RDONLY BINARY NONBLOCK NOFOLLOW 0].include?(word) }
    known = words.none?(&:nil?)
    tell("open-write", place, name, known ? words.join("|") : "mode unknown")
  end

  # Loops, and what leaves them.

  def with_block(node)
    head, block = node[1], node[2]
    name = head_name(head)
    if APART.include?(name)
      look(head)
      generator, @generator = @generator, name == "Enumerator.new"
      apart { look(block) }
      @generator = generator
      return
    end
    look(head)
    left = framed { look(block) }
    tell("endless-loop", place_of(head), "loop do") if name == "loop" && !left
  end

  def head_name(head)
    head = head[1] if head[0] == :method_add_arg
    case head[0]
    when :fcall, :vcall, :command then full_name(nil, head[1][1])
    when :call, :command_call
      head[3].is_a?(Array) ? full_name(head[1], head[3][1]) : nil
    end
  end

  def while_loop(node)
    kind, test, body = node
    left = framed { all([test, body]) }
    return if left || !always?(test, kind.start_with?("while"))
    place = @tree.loop_word_before(place_of(test))
    line = @lines[place[0] - 1].byteslice(place[1], 200)
    text = line[/\A\w+\s*(?:(?!;|\bdo\b|#|\r|\n).)*/n].strip
    tell("endless-loop", place, kind.end_with?("_mod") && body[0] == :begin ? "begin end #{text}" : text)
  end

  def always?(node, value)
    case node[0]
    when :paren
      node[1].is_a?(Array) && node[1].size == 1 && always?(node[1][0], value)
    when :unary then node[1] == :! && always?(node[2], !value)
    when :var_ref
      word = node[1][0] == :@kw ? node[1][1] : nil
      value ? word == "true" : word == "false" || word == "nil"
    when :@int, :@float, :string_literal, :symbol_literal, :array then value
    else false
    end
  end

  # Jumps in there leave nothing outside.
  def apart
    frames, @frames = @frames, []
    yield
    @frames = frames
  end

  # Whether a jump leaves what is looked at meanwhile.
  def framed
    @frames.push(NEVER)
    yield
    target = @frames.pop
    jump(target)
    target <= @frames.size
  end

  def jump(depth)
    @frames[-1] = [@frames[-1], depth].min unless @frames.empty?
  end
end

# What programs name whose files these are, as [path, text]; nothing of them runs.
def facts_of(sources)
  facts, names = Facts.new, Names.new
  programs = []
  problem = nil
  sources.each_with_index do |(_, text), i|
    source = text.delete_prefix("\xEF\xBB\xBF".b).force_encoding(Encoding::UTF_8)
    tree = ProgramTree.new(source)
    root = tree.parse
    if tree.error? || root.nil?
      problem = [i, *(tree.problem || ["not Ruby", [1, 0]])]
      break
    end
    names.define_in(root)
    programs << [i, source.b.split("\n", -1), tree, root]
  end
  analyser = Analyser.new(facts, names)
  programs.each { |program| analyser.look_at(*program) }
  if problem
    file, message, place = problem
    facts.tell("syntax-error", file, place, message)
  end
  facts.text
end
