"""A class of the user's, read and not run: what would be refused when it is imported is refused before."""

import ast
from collections.abc import Iterable
from inspect import Parameter, Signature

from catalog.errors import ConfigError
from catalog.faults import nearest
from catalog.user_code.protocol import ARGUMENTS, options_fault, signature_fault
from catalog.user_code.source import shown, source_of
from catalog.variant import PYTHON, Variant

_Function = ast.FunctionDef | ast.AsyncFunctionDef


def check_classes(variants: Iterable[Variant], folder: str) -> None:
    """Read the source of every variant of runtime ``python``; ``folder`` is the catalogue's.

    What only running could tell passes: classes that are imported from elsewhere, inherit or are decorated. Raises
    `ConfigError` that names the file and the line, and `ArtifactError` where there is no such module.
    """
    for variant in variants:
        if variant.runtime == PYTHON:
            _check(variant, folder)


def _check(variant: Variant, folder: str) -> None:
    path = variant.artifact.import_path or ""
    file = source_of(path, folder)
    if file.suffix != ".py" or not file.is_file():
        return
    where = f"variant {variant.name!r}, artifact.import {path!r}: {shown(file, folder)}"
    try:
        tree = ast.parse(file.read_bytes(), str(file))
    except (SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", None)
        raise ConfigError(f"{where}{f', line {line}' if line else ''}: {error}; correct it") from error
    except OSError as error:
        raise ConfigError(f"{where} cannot be read: {error.strerror}; check its permissions") from error
    name = path.partition(":")[2]
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name]
    found = classes[-1] if classes else None  # of several, Python keeps the last
    if found is None:
        _check_bound(tree, name, where)
    elif not found.decorator_list and not found.keywords:
        _check_class(found, variant, where)


def _check_bound(tree: ast.Module, name: str, where: str) -> None:
    """A name that the module binds in another way than by a class statement at its top may be a class."""
    bound = _bound_names(tree)
    if name not in bound and not {"*", "__getattr__"} & bound:
        known = [node.name for node in tree.body if isinstance(node, ast.ClassDef)]
        raise ConfigError(
            f"{where} has no class {name!r}{nearest(name, known)}; its classes are {', '.join(known) or 'none'}"
        )
    function = next((node for node in tree.body if isinstance(node, _Function) and node.name == name), None)
    if function is not None:
        raise ConfigError(
            f"{where}, line {function.lineno}: {name!r} is a function; name a class with setup(device) and "
            "predict(inputs)"
        )


def _bound_names(tree: ast.Module) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, _Function | ast.ClassDef):
            names.add(node.name)
    return names


def _check_class(found: ast.ClassDef, variant: Variant, where: str) -> None:
    own = {node.name: node for node in found.body if isinstance(node, _Function)}
    assigned = _bound_names(ast.Module(found.body, [])) - own.keys()
    inherits = any(not (isinstance(base, ast.Name) and base.id == "object") for base in found.bases)
    for method, arguments in ARGUMENTS.items():
        node = own.get(method)
        if node is None:
            if inherits or method in assigned:
                continue
            raise ConfigError(
                f"{where}, line {found.lineno}: class {found.name} has no {method}{nearest(method, own)}; write "
                f"`def {method}({', '.join(('self', *arguments))}):`"
            )
        if not node.decorator_list and (fault := signature_fault(method, _signature(node))) is not None:
            raise ConfigError(f"{where}, line {node.lineno}: {fault}")
    maker = own.get("__init__")
    if maker is None and (inherits or {"__new__", "__init__"} & {*own, *assigned}):
        return
    if maker is None or not maker.decorator_list:
        signature = Signature() if maker is None else _signature(maker)
        if (fault := options_fault(found.name, signature, variant.options)) is not None:
            line = found.lineno if maker is None else maker.lineno
            raise ConfigError(f"{where}, line {line}: {fault}; correct one of them")


def _signature(node: _Function) -> Signature:
    """The signature of a method without its first parameter."""
    given = node.args
    positional = [*given.posonlyargs, *given.args]
    required = len(positional) - len(given.defaults)
    parameters = [
        Parameter(
            each.arg,
            Parameter.POSITIONAL_ONLY if number < len(given.posonlyargs) else Parameter.POSITIONAL_OR_KEYWORD,
            default=Parameter.empty if number < required else ...,
        )
        for number, each in enumerate(positional)
    ][1:]
    if given.vararg is not None:
        parameters.append(Parameter(given.vararg.arg, Parameter.VAR_POSITIONAL))
    parameters += [
        Parameter(each.arg, Parameter.KEYWORD_ONLY, default=Parameter.empty if default is None else ...)
        for each, default in zip(given.kwonlyargs, given.kw_defaults, strict=True)
    ]
    if given.kwarg is not None:
        parameters.append(Parameter(given.kwarg.arg, Parameter.VAR_KEYWORD))
    return Signature(parameters)
