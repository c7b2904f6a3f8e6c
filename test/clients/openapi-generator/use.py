"""Creates, starts, reads, lists and deletes a world with the generated client, and prints the result as JSON."""

import json
import os

from orrery_client import ApiClient, ApiException, Configuration, CreateWorld, World, WorldsApi

configuration = Configuration(host=os.environ["ORRERY_URL"], api_key={"apiKey": os.environ["ORRERY_KEY"]})
organization = os.environ["ORRERY_ORGANIZATION"]
project = os.environ["ORRERY_PROJECT"]

with ApiClient(configuration) as client:
    worlds = WorldsApi(client)
    created = worlds.create_world(organization, project, CreateWorld(name="Lobby", transient=False))
    world_id = created.world_id
    worlds.start_world(world_id, organization, project)
    read = worlds.get_world(world_id, organization, project)
    listed = worlds.list_worlds(x_svc_organization_id=organization, x_svc_project_id=project)
    worlds.delete_world(world_id, organization, project)
    after = 200
    try:
        worlds.get_world(world_id, organization, project)
    except ApiException as error:
        after = error.status or 0

print(
    json.dumps(
        {
            "created": world_id,
            "phase": read.status.phase,
            "listed": [
                [world.document_id, world.name]
                for world in (item.actual_instance for item in listed)
                if isinstance(world, World)
            ],
            "afterDeletion": after,
        }
    )
)
