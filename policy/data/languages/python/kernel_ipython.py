"""IPython's part in the Python kernel, where it is installed: the fourth part.

Cells need it for magics and for its display functions. Nothing of it is loaded
before a cell does that or asks for it.
"""


class _KernelFinder:
    """Sees modules come that have to be told of the kernel."""

    __module__ = "sandglass"

    def __init__(self, actions):
        self._actions = actions

    def find_spec(self, name, path=None, target=None):
        action = self._actions.get(name)
        if action is None:
            return None
        for finder in list(sys.meta_path):
            find = getattr(finder, "find_spec", None)
            if finder is self or find is None:
                continue
            spec = find(name, path, target)
            if spec is not None:
                self._follow(name, spec.loader, action)
                return spec
        return None

    def _follow(self, name, loader, action):
        execute = getattr(loader, "exec_module", None)
        if execute is None:
            return

        def exec_module(module):
            execute(module)
            if module.__name__ == name:
                self._actions.pop(name, None)
                action(module)

        try:
            loader.exec_module = exec_module
        except AttributeError:
            pass


def _k_watch_imports(cells):
    """Lets modules know of the kernel, now or as they are imported."""
    actions = {
        "matplotlib": _k_choose_backend,
        "matplotlib.font_manager": _k_keep_fallback_fonts,
        "matplotlib.pyplot": lambda module: _k_patch_show(module, cells.screen),
        "numba.core.caching": _k_cache_cells,
        "pandas": _k_widen_tables,
        "IPython": lambda module: _k_make_shell(cells),
    }
    for name in [name for name in actions if name in _k_modules]:
        actions.pop(name)(_k_modules[name])
    if actions:
        sys.meta_path.insert(0, _KernelFinder(actions))


def _k_choose_backend(matplotlib):
    """Spares it the search for a screen. MPLBACKEND and a matplotlibrc have
    their say."""
    try:
        chosen = dict.__getitem__(matplotlib.rcParams, "backend")
        if not isinstance(chosen, str):
            matplotlib.rcParams["backend"] = "agg"
    except Exception:
        pass


def _k_keep_fallback_fonts(font_manager):
    """Styles, and seaborn's set_theme, put one family in the place of those of
    the matplotlibrc. What that names behind its first one stays there for the
    characters that the style's font lacks."""
    try:
        matplotlib = _k_modules["matplotlib"]
        families = list(matplotlib.rcParamsOrig["font.family"][1:])
        find = font_manager.FontManager._find_fonts_by_props
    except Exception:
        return
    if not families:
        return

    def find_fonts(self, prop, fontext="ttf", *args, **kwargs):
        paths = find(self, prop, fontext, *args, **kwargs)
        for family in families if fontext == "ttf" else ():
            try:
                path = self.findfont(
                    font_manager.FontProperties(family=family),
                    fallback_to_default=False,
                )
            except ValueError:
                continue
            if path not in paths:
                paths.append(path)
        return paths

    font_manager.FontManager._find_fonts_by_props = find_fonts


def _k_widen_tables(pandas):
    """Without ipykernel it takes all for a terminal, and leaves out the columns
    that 80 characters have no room for. As in a notebook lines are broken."""
    try:
        if pandas.get_option("display.max_columns") == 0:
            pandas.set_option("display.max_columns", 20)
    except Exception:
        pass


def _k_cache_cells(caching):
    """numba's cache=True: as for IPython's cells, which it knows by the names of
    their files, but in the directory for temporary files."""
    try:
        # Both have had an underscore.
        names = vars(caching)
        known = names.get("IPythonCacheLocator") or caching._IPythonCacheLocator
        cache = names.get("CacheImpl") or caching._CacheImpl

        class KernelCellLocator(known):
            def get_cache_path(self):
                return os.path.join(_k_own("tempfile").gettempdir(), "numba_cache")

            @classmethod
            def from_function(cls, function, file):
                if not file.startswith("<cell "):
                    return None
                return super().from_function(function, f"<ipython-{file}")

        cache._locator_classes.append(KernelCellLocator)
    except Exception:
        pass


def _k_patch_show(pyplot, screen):
    def show(*args, **kwargs):
        """Shows the open figures, and closes them."""
        screen.show_figures()

    show.__module__ = "matplotlib.pyplot"
    pyplot.show = show


def _k_make_shell(cells):
    """IPython's shell on the namespace of the cells. Of its own it has no files
    and no history."""
    shutil, tempfile = _k_own("shutil"), _k_own("tempfile")
    # Its profile: IPython makes files as it starts.
    directory = tempfile.mkdtemp()
    try:
        shell = _k_shell_class(cells).instance(
            user_module=cells.module,
            user_ns=cells.names,
            ipython_dir=directory,
            config=_k_shell_config(),
        )
        shell.db = {}
        history = shell.history_manager
        history.input_hist_parsed[:] = history.input_hist_raw[:] = cells.inputs
        history.output_hist.update(cells.outputs)
        cells.inputs, cells.outputs = history.input_hist_parsed, history.output_hist
        cells.names.update({"In": cells.inputs, "Out": cells.outputs})
        shell.execution_count = cells.count
        shell.display_formatter.formatters["text/plain"].pprint = False
        # Those that end the kernel would not be heard.
        for name in ("exit", "quit"):
            cells.names.pop(name, None)
        shell.builtin_trap.activate()
        # For magics that look at what a cell's code shows.
        shell.display_trap.__enter__()
        cells.screen.shell = shell
    except Exception as error:
        _k_note(f"IPython can't be used: {_k_describe(error)}")
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _k_shell_config():
    from traitlets.config import Config

    config = Config()
    config.HistoryManager.enabled = False
    config.HistoryManager.hist_file = ":memory:"
    config.InteractiveShell.colors = "NoColor"
    config.Completer.use_jedi = False
    return config


def _k_shell_class(cells):
    from IPython.core.displayhook import DisplayHook
    from IPython.core.displaypub import DisplayPublisher
    from IPython.core.interactiveshell import InteractiveShell

    screen = cells.screen

    class Publisher(DisplayPublisher):
        def publish(self, data, metadata=None, *_args, **_named):
            screen.show("display", data, metadata)

        def clear_output(self, wait=False):
            screen.clear_output(wait)

    class Hook(DisplayHook):
        """For what magics run as cells: %%capture, %rerun."""

        def write_output_prompt(self):
            pass

        def finish_displayhook(self):
            pass

        def write_format_data(self, format_dict, md_dict=None):
            screen.show("result", format_dict, md_dict)

    class Shell(InteractiveShell):
        # How many values are being formatted.
        kernel_formats = 0

        def init_virtualenv(self):
            pass

        def init_hooks(self):
            super().init_hooks()
            self.set_hook("show_in_pager", _k_print_page, 0)

        def enable_gui(self, gui=None):
            pass

        def enable_matplotlib(self, gui=None):
            """Whichever way a cell chooses, there is this one."""
            return super().enable_matplotlib("inline")

        def system(self, cmd):
            """!command: its output goes where the cell's does."""
            self.user_ns["_exit_code"] = _k_system(self.var_expand(cmd, depth=1))

        def showtraceback(self, exc_tuple=None, *_args, **_named):
            kind, error, _ = exc_tuple or sys.exc_info()
            if self.kernel_formats:
                # A broken repr is no broken cell.
                _k_note(f"display: {_k_describe(error)}")
            elif error is not None:
                cells.report(error)

        def showsyntaxerror(self, *_args, **_named):
            self.showtraceback()

        def kernel_begin_cell(self, source):
            self.history_manager.input_hist_raw.append(source)
            self.execution_count = cells.count
            self.events.trigger("pre_execute")
            self.events.trigger("pre_run_cell", None)

        def kernel_end_cell(self):
            self.events.trigger("post_execute")

    Shell.display_pub_class = Publisher
    Shell.displayhook_class = Hook
    return Shell


def _k_print_page(_shell, data, *_args, **_named):
    print(data.get("text/plain", "") if isinstance(data, dict) else data)


def _k_system(command):
    subprocess = _k_own("subprocess")
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    shell = "/bin/bash" if os.path.exists("/bin/bash") else "/bin/sh"
    return subprocess.call([shell, "-c", command])
