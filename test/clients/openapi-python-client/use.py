"""Creates, starts, reads, lists and deletes a world with the generated client, and prints the result as JSON.

Imports every module first, since a module with an error shows only at its import.
"""

import builtins
import importlib
import json
import os
import pkgutil

import orrery_client
from orrery_client import AuthenticatedClient
from orrery_client.api.worlds import create_world, delete_world, get_world, list_worlds, start_world
from orrery_client.models import CreatedWorld, CreateWorld, World
from orrery_client.types import Unset

# openapi-python-client 0.29.1 forgets to import this name in an operation that takes several types of bodies.
setattr(builtins, "Unset", Unset)
for found in pkgutil.walk_packages(orrery_client.__path__, "orrery_client."):
    importlib.import_module(found.name)

client = AuthenticatedClient(
    base_url=os.environ["ORRERY_URL"], token=os.environ["ORRERY_KEY"], prefix="", auth_header_name="x-api-key"
)
organization = os.environ["ORRERY_ORGANIZATION"]
project = os.environ["ORRERY_PROJECT"]

created = create_world.sync(
    client=client,
    body=CreateWorld(name="Lobby", transient=False),
    x_svc_organization_id=organization,
    x_svc_project_id=project,
)
assert isinstance(created, CreatedWorld), created
world_id = created.world_id
start_world.sync(world_id, client=client, x_svc_organization_id=organization, x_svc_project_id=project)
read = get_world.sync(world_id, client=client, x_svc_organization_id=organization, x_svc_project_id=project)
assert isinstance(read, World), read
listed = list_worlds.sync(client=client, x_svc_organization_id=organization, x_svc_project_id=project)
assert isinstance(listed, list), listed
delete_world.sync(world_id, client=client, x_svc_organization_id=organization, x_svc_project_id=project)
after = get_world.sync_detailed(world_id, client=client, x_svc_organization_id=organization, x_svc_project_id=project)
print(
    json.dumps(
        {
            "created": world_id,
            "phase": read.status.phase,
            "listed": [[world.document_id, world.name] for world in listed if isinstance(world, World)],
            "afterDeletion": after.status_code,
        }
    )
)
