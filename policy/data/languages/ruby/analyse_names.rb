# What bare names, constants and texts stand for.
class Names
  MOST_TEXT = 1000
  MOST_ANCESTORS = 50
  SENDS = %w[send public_send __send__].freeze
  DEFINERS = %w[define_method attr_accessor attr_reader attr_writer attr].freeze

  def initialize
    @methods = Hash.new { |hash, key| hash[key] = {} } # by class; "" is none
    @ancestors = Hash.new { |hash, key| hash[key] = [] }
    @constants = {}
    @classes = {}
    @aliases = {}
    @texts = {}
  end

  # Notes what is defined where. A name may be used before.
  def define_in(node, inside = "")
    return unless node.is_a?(Array)
    case node[0]
    when :def then @methods[inside][node[1][1]] = true
    when :defs then @methods[inside][node[3][1]] = true
    when :class, :module
      name = node[1].last[1]
      @constants[name] = @classes[name] = true
      if node[0] == :class && node[2]
        @ancestors[name] << last_constant(node[2])
      end
      inside = name
    when :command, :method_add_arg
      define_by_call(node, inside)
    when :assign
      @constants[node[1][1][1]] = true if node.dig(1, 1, 0) == :@const
    end
    node.each { |part| define_in(part, inside) }
  end

  def method_of_program?(name, inside)
    return true if @methods[""][name]
    seen = [inside]
    seen.each do |one|
      return true if @methods[one][name]
      seen.concat(@ancestors[one] - seen) if seen.size < MOST_ANCESTORS
    end
    false
  end

  def assign(target, value)
    return unless target[0] == :var_field && target[1].is_a?(Array)
    name = target[1][1]
    text = text_of(value)
    @texts[name] = @texts.key?(name) ? nil : text
    known = constant(value)
    @aliases[name] ||= known if known
  end

  # The constant that an expression is: "IO", "Process::Sys"; nil for others.
  # Those of the program are its own.
  def constant(node)
    return nil unless node.is_a?(Array)
    case node[0]
    when :var_ref, :top_const_ref
      kind, name = node[1]
      return nil if kind == :@kw
      return @aliases[name] if @aliases[name]
      kind == :@const && !own?(name) ? name : nil
    when :const_path_ref
      base = constant(node[1])
      base && join(base, node[2][1])
    when :paren
      inner = node[1]
      inner = inner[0] if inner.is_a?(Array) && inner[0].is_a?(Array) && inner.size == 1
      constant(inner)
    when :method_add_arg, :command_call
      constant_by_name(node)
    end
  end

  # Whether it is a class or module that the program defines, or in one.
  def own_class?(node)
    node = node[1] while node[0] == :const_path_ref
    node[0] == :var_ref && node[1][0] == :@const && @classes[node[1][1]] && constant(node).nil?
  end

  # The text that a string or symbol is, as far as the program says it.
  def text_of(node)
    return nil unless node.is_a?(Array)
    case node[0]
    when :string_literal, :dyna_symbol then text_of(node[1])
    when :string_content
      parts = node.drop(1)
      return nil unless parts.all? { |part| part[0] == :@tstring_content }
      text = parts.map { |part| part[1] }.join
      # Escapes would have to be known.
      text.include?("\\") || text.bytesize > MOST_TEXT ? nil : text
    when :symbol_literal
      name = node[1][0] == :symbol ? node[1][1] : node[1]
      name[0].start_with?("@") ? name[1] : nil
    when :string_concat, :binary
      return nil if node[0] == :binary && node[2] != :+
      left = text_of(node[1])
      right = left && text_of(node.last)
      right && left.bytesize < MOST_TEXT ? left + right : nil
    when :var_ref then @texts[node[1][1]]
    when :paren
      node[1].is_a?(Array) && node[1].size == 1 ? text_of(node[1][0]) : nil
    when :call then %w[to_sym to_s freeze].include?(node.dig(3, 1)) ? text_of(node[1]) : nil
    end
  end

  # What a call is given, without a block.
  def arguments(node)
    node = node[1] while node.is_a?(Array) && node[0] == :arg_paren
    return [] unless node.is_a?(Array)
    node = node[1] if node[0] == :args_add_block
    node.is_a?(Array) && node[0].is_a?(Array) ? node : []
  end

  private

  # Its own, unless it adds to one that Ruby has.
  def own?(name)
    @constants[name] && !Object.const_defined?(name)
  rescue NameError
    true
  end

  def join(base, name)
    return name if base == "Object" || base == "Kernel"
    base.bytesize < MOST_TEXT ? "#{base}::#{name}" : nil
  end

  def last_constant(node)
    node[0] == :const_path_ref ? node[2][1] : node.dig(1, 1)
  end

  def define_by_call(node, inside)
    name = node[0] == :command ? node[1][1] : node.dig(1, 1, 1)
    given = arguments(node[2])
    if DEFINERS.include?(name)
      given = given.take(1) if name == "define_method"
      given.each { |one| @methods[inside][text_of(one)] = true }
    elsif name == "include" || name == "extend" || name == "prepend"
      given.each { |one| @ancestors[inside] << last_constant(one) if one[0] == :var_ref }
    end
  end

  # Object.const_get(:IO)
  def constant_by_name(node)
    receiver, name = node[0] == :command_call ? [node[1], node[3]] : [node.dig(1, 1), node.dig(1, 3)]
    return nil unless name.is_a?(Array) && name[1] == "const_get"
    text = text_of(arguments(node.last)[0])
    base = constant(receiver)
    text && base && join(base, text)
  end
end
