# The Ruby kernel: runs cells one after another in the top-level binding, so that
# what they leave stays. docs/sessions.md has what it says and is told: events on
# the descriptor that its argument names, commands on 0.
#
# No local variables here: they would be the cells'.

# From Ruby's own library, whatever RUBYLIB has by that name.
lambda do
  places = $LOAD_PATH.dup
  named = ENV.fetch("RUBYLIB", "").split(":").map { |place| File.expand_path(place) }
  $LOAD_PATH.reject! { |place| named.include?(place) }
  require "json"
ensure
  $LOAD_PATH.replace(places)
end.call

module SandglassKernel
  MOST_TEXT = 256 * 1024
  MOST_RESULTS = 256
  MOST_RESULT_BYTES = 8 << 20
  F_DUPFD_CLOEXEC = 1030 # of linux/fcntl.h
  # Out of the way of a cell's files.
  FROM_FD = [250, 60, 28].find { |fd| Process.getrlimit(:NOFILE)[0] > fd + 4 } || 10

  Outcome = Struct.new(:status, :exit_code, :error, :raised)
  private_constant(*constants)

  class << self
    def serve(events)
      @events = move_high(events)
      @commands = move_high(0)
      @out, @err = move_high(1), move_high(2)
      @pid = Process.pid
      @count = 0
      $stdout.sync = $stderr.sync = true
      $PROGRAM_NAME = "ruby"
      ARGV.clear
      between_cells
      prepare_end
      read_from(nil)
      send_event(ev: "ready", pid: Process.pid)
      while (line = @commands.gets)
        command = JSON.parse(line)
        break if command["op"] == "quit"
        next if command["op"] != "run"
        run(command)
        break if @is_last
      end
      raise @told if @told
    end

    private

    def move_high(fd)
      high = IO.for_fd(fd, autoclose: false).fcntl(F_DUPFD_CLOEXEC, FROM_FD)
      IO.for_fd(fd).close if fd > 2
      # Input is read by lines, output as it is.
      IO.for_fd(high, fd.zero? ? "rb" : "wb").tap { |io| io.sync = true }
    end

    def send_event(event)
      @events.write(JSON.generate(event), "\n")
    end

    # SIGINT is nobody's; a handler of the last cell's stays for the next.
    def between_cells
      handler = trap("INT") {}
      @handler = handler if handler.is_a?(Proc) && @inside
      @inside = false
    end

    def run(command)
      @count += 1
      @id = command["id"]
      @is_last = command["last"]
      @results = @bytes = 0
      @most_results = command["max_results"] || MOST_RESULTS
      @most_bytes = command["max_result_bytes"] || MOST_RESULT_BYTES
      read_from(command["stdin"])
      ARGV.replace(command["args"]) if command["args"] && !ARGV.frozen?
      be_main(command["code"])
      outcome = evaluate(command["code"], command.fetch("rich", true))
      finish(outcome)
    rescue Interrupt => error
      # A second one.
      finish(outcome || interrupted(error))
    end

    # This handler is called after all of the cells', in their children, too. The last
    # cell's program ends as Ruby ends it, with its error, which has been told and
    # isn't to be printed.
    def prepare_end
      at_exit do
        $stderr = File.open(File::NULL, "w") if @told && $!.equal?(@told)
        hide_kernel($!) if $!
      end
    end

    # Its handlers may look at the error, and Ruby prints it where one of them raises.
    def finish_last(outcome)
      @told = outcome.raised
      hide_kernel(@told) if @told
      return unless outcome.error
      if Process.pid == @pid
        send_event(ev: "error", id: @id, **outcome.error)
      else
        warn(outcome.error[:traceback])
      end
    end

    def finish(outcome)
      return finish_last(outcome) if @is_last
      # A child of the cell's that came to its end.
      exit!(outcome.exit_code) if Process.pid != @pid
      between_cells
      repair
      send_event(ev: "error", id: @id, **outcome.error) if outcome.error
      send_event(ev: "done", id: @id, status: outcome.status,
                 exit_code: outcome.exit_code, count: @count)
    end

    # To itself a cell is the program's main file.
    def be_main(code)
      $PROGRAM_NAME = "<cell #{@count}>"
      return unless code =~ /^__END__\r?(?:\n|\z)/
      data = temporary(code).set_encoding(code.encoding)
      data.pos = code.bytesize - $~.post_match.bytesize
      Object.send(:remove_const, :DATA) if Object.const_defined?(:DATA, false)
      Object.const_set(:DATA, data)
    end

    def evaluate(code, rich)
      @inside = true
      trap("INT", @handler || "DEFAULT")
      value = TOPLEVEL_BINDING.eval(code, $PROGRAM_NAME, 1)
      TOPLEVEL_BINDING.local_variable_set(:_, value)
      show(value) if rich && !value.nil? && Process.pid == @pid
      flush
      Outcome.new("ok", 0)
    rescue SystemExit => error
      flush
      Outcome.new("exit", error.status & 0xff, nil, error)
    rescue Interrupt => error
      interrupted(error)
    rescue Exception => error # rubocop:disable Lint/RescueException
      flush
      Outcome.new("error", 1, describe(error), error)
    end

    def interrupted(error)
      Outcome.new("interrupted", 130,
                  {name: "Interrupt", value: "", traceback: "Interrupt\n"}, error)
    end

    # What was written has left the process.
    def flush
      $stdout.flush
      $stderr.flush
    rescue IOError, SystemCallError, NoMethodError
      # Whatever a cell has put there.
    end

    # Results.

    def show(value)
      data = bundle_of(value)
      bytes = data.sum { |_, text| text.bytesize }
      if @results >= @most_results || @bytes + bytes > @most_bytes
        send_event(ev: "dropped", id: @id, count: 1, bytes: bytes)
      else
        @results += 1
        @bytes += bytes
        send_event(ev: "display", id: @id, kind: "result", data: data, metadata: {})
      end
    rescue StandardError, SystemStackError => error
      warn("the value can't be shown: #{error.class}: #{error.message}")
    end

    def bundle_of(value)
      data = {"text/plain" => text_of(value.inspect)}
      if value.respond_to?(:to_iruby_mimebundle)
        bundle, = value.to_iruby_mimebundle
        bundle.each { |type, content| data[type.to_s] = content_of(type.to_s, content) }
      elsif value.respond_to?(:to_html)
        data["text/html"] = text_of(value.to_html)
      end
      data
    end

    def content_of(type, content)
      text = content.to_s
      return text_of(text) if type.start_with?("text/") || type.include?("svg")
      [text].pack("m0")
    end

    def text_of(text)
      text = String(text)
      return text if text.encoding == Encoding::UTF_8 && text.valid_encoding?
      text = text.dup.force_encoding("UTF-8") if text.encoding == Encoding::BINARY
      text.encode("UTF-8", invalid: :replace, undef: :replace).scrub
    end

    # Errors.

    def describe(error)
      {
        name: tail(error.class.name || "Exception"),
        value: tail(error.message),
        traceback: tail(traceback_of(error)),
      }
    rescue Exception # rubocop:disable Lint/RescueException
      {name: error.class.to_s, value: "", traceback: "#{error.class}\n"}
    end

    # The cell's alone.
    def frames_of(error)
      frames = error.backtrace || []
      last = frames.rindex { |frame| frame.start_with?("<cell ") }
      last ? frames[0..last] : frames.reject { |frame| frame.start_with?(__FILE__) }
    end

    def hide_kernel(error)
      error.set_backtrace(frames_of(error)) if error.backtrace
      hide_kernel(error.cause) if error.cause
    rescue StandardError, SystemStackError
      # It is frozen, or has methods of its own.
    end

    # As bare Ruby prints it.
    def traceback_of(error)
      frames = frames_of(error)
      if frames.size > 400
        frames = frames[0, 200] + ["... #{frames.size - 400} frames ..."] + frames[-200, 200]
      end
      if error.is_a?(SyntaxError) || frames.empty?
        text = "#{error.message} (#{error.class})\n"
      else
        text = "#{frames[0]}: #{error.message} (#{error.class})\n"
        frames.drop(1).each { |frame| text += "\tfrom #{frame}\n" }
      end
      text += traceback_of(error.cause) if error.cause && !error.cause.equal?(error)
      text
    end

    def tail(text)
      text = text_of(text)
      text.size <= MOST_TEXT ? text : text[-MOST_TEXT, MOST_TEXT]
    end

    # Standard streams.

    def read_from(content)
      if content.nil?
        file = File.open(File::NULL, "r")
      else
        file = temporary(content.unpack1("m"))
      end
      if STDIN.closed?
        $stdin = file
      else
        STDIN.reopen(file)
        file.close
        $stdin = STDIN
      end
    end

    def temporary(content)
      file = File.open("/tmp", File::RDWR | File::TMPFILE, 0o600)
      file.binmode
      file.write(content)
      file.rewind
      file
    end

    # What a cell has closed, or turned to another file, is as it was for the next
    # one.
    def repair
      turn_back(STDOUT, @out)
      turn_back(STDERR, @err)
      $stdout = open_again(STDOUT, @out) if !$stdout.respond_to?(:write) || closed?($stdout)
      $stderr = open_again(STDERR, @err) if !$stderr.respond_to?(:write) || closed?($stderr)
    end

    def turn_back(io, kept)
      return if io.closed? || File.identical?(io, kept)
      io.reopen(kept)
      io.sync = true
    end

    def closed?(io)
      io.respond_to?(:closed?) && io.closed?
    end

    def open_again(io, kept)
      return io unless io.closed?
      kept.dup.tap { |copy| copy.sync = true }
    end
  end
end

SandglassKernel.serve(ARGV[0].to_i)
