"""Accord's application with the baselines among its planners: ``import_path: benchmarks.live_proteus.app:build``."""

from typing import Any

from ray import serve

from benchmarks.live_proteus.planners import register_baselines
from serve_app.build.control_app import ControllerApp, as_controller
from serve_app.main import application

register_baselines()


class BaselineControllerApp(ControllerApp):
    """The controller as it is; where it is started this module is imported, and the baselines are known."""


def build(args: dict[str, Any]) -> serve.Application:
    """See `serve_app.main.build`."""
    return application(args, as_controller(BaselineControllerApp))
