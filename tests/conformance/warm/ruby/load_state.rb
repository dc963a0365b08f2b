p $LOADED_FEATURES, $LOAD_PATH, $LOADED_FEATURES.frozen?, $".equal?($LOADED_FEATURES)
p Gem.path, Gem.user_home, Gem.user_dir, Gem.dir, Gem.loaded_specs.keys, Gem::VERSION, RUBY_VERSION, RUBY_ENGINE
p defined?(Gem), defined?(DidYouMean), defined?(ErrorHighlight), defined?(Monitor), defined?(RbConfig)
p Object.constants.size - Object.constants.grep(/Sandglass|REHEARSAL/i).size, Object.constants.sort
p global_variables.sort, Kernel.private_instance_methods.size, Object.instance_methods.size, String.instance_methods.size
p method(:require).owner, method(:fork).owner, singleton_class.instance_methods(false).sort, singleton_class.private_instance_methods(false).sort
