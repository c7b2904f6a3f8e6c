"""Uses the generated client against a running API, and prints the result as JSON.

Imports every module, since a module with an error shows only at its import; then creates a world and finds it in the list.
"""

import builtins
import importlib
import json
import os
import pkgutil

import orrery_client
from orrery_client.api.worlds import create_world, list_worlds
from orrery_client.models import CreateWorld, World
from orrery_client.types import Unset

# openapi-python-client 0.29.1 forgets to import this name in an operation that takes several types of bodies.
builtins.Unset = Unset

modules = [
    importlib.import_module(found.name) for found in pkgutil.walk_packages(orrery_client.__path__, "orrery_client.")
]
operations = [module for module in modules if hasattr(module, "sync_detailed")]

client = orrery_client.AuthenticatedClient(
    base_url=os.environ["ORRERY_URL"], token=os.environ["ORRERY_KEY"], prefix="", auth_header_name="x-api-key"
)
scope = {
    "x_svc_organization_id": os.environ["ORRERY_ORGANIZATION"],
    "x_svc_project_id": os.environ["ORRERY_PROJECT"],
}
created = create_world.sync(client=client, body=CreateWorld(name="Lobby", transient=False), **scope)
worlds = list_worlds.sync(client=client, **scope)
print(
    json.dumps(
        {
            "operations": len(operations),
            "created": created.world_id,
            "listed": [[world.document_id, world.name] for world in worlds if isinstance(world, World)],
        }
    )
)
