from . import part
