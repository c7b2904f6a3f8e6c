"""What Schemathesis cannot know of the API from its document alone."""

import itertools
import json
import os
import re
import struct
import zlib

import requests
import schemathesis
from hypothesis import strategies as st
from schemathesis.openapi.checks import RejectedPositiveData

with open(os.environ["ORRERY_FUZZ_FIXTURE"], encoding="utf-8") as file:
    fixture = json.load(file)
base_url, platform_key, ids = fixture["baseUrl"], fixture["platformKey"], fixture["ids"]
organization, project = "x-svc-organization-id", "x-svc-project-id"


@schemathesis.hook
def before_load_schema(context, raw_schema):
    """Parameters that are ids become a choice of such as exist: of those drawn at random none ever would, and every
    answer be a 404. What is not of the choice is still sent, as invalid data. What a request deletes keeps its form."""
    for path in raw_schema["paths"].values():
        for operation in path.values():
            own = ids["operations"].get(operation["operationId"], {})
            for parameter in operation["parameters"]:
                if parameter["name"] == doomed.get(operation["operationId"], ("", ""))[1]:
                    continue
                known = own.get(parameter["name"]) or ids["parameters"].get(parameter["name"])
                if known is not None:
                    # A scope header that may be left out may be empty.
                    none = [""] if parameter["name"].startswith("x-svc-") and not parameter["required"] else []
                    parameter["schema"] = {"type": "string", "enum": known + none}


def made(path, body, method="POST"):
    headers = {"x-api-key": platform_key, organization: ids["parameters"][organization][0]}
    headers[project] = ids["parameters"][project][0]
    answer = requests.request(method, base_url + path, json=body, headers=headers, timeout=20)
    answer.raise_for_status()
    return answer


def make_project():
    return made("/api/organizations/projects/", {"name": "Doomed"}).json()["projectId"]


def make_world():
    return made("/api/worlds/", {"name": "Doomed", "transient": False}).json()["worldId"]


def make_bots():
    steady = ids["parameters"]["worldId"][0]
    return made(f"/api/worlds/{steady}/bots/", {"count": 0}).headers["location"].split("/")[-2]


def make_build():
    made("/api/builds/main/doomed/", {"image": "registry.example/game/server:1", "contentId": "c"}, "PUT")
    return "doomed"


def make_key():
    made("/api/organizations/apiKeys/", {"displayName": "Doomed"})
    keys = made("/api/organizations/apiKeys/", None, "GET").json()
    steady = ids["parameters"]["apiKeyId"]
    return next(each["documentId"] for each in reversed(keys) if each["documentId"] not in steady)


# What is deleted by an operation: where its name stands in the request, and how another one is made.
doomed = {
    "deleteProject": ("headers", project, make_project),
    "deleteWorld": ("path_parameters", "worldId", make_world),
    "deleteBotDeployment": ("path_parameters", "botDeploymentId", make_bots),
    "deleteBuild": ("path_parameters", "tag", make_build),
    "deleteApiKey": ("path_parameters", "apiKeyId", make_key),
}
steady = {"tag": ["stable"], **ids["parameters"]}
well_formed = re.compile(r"[a-z]{3}-[0-7][0-9a-z]{25}")
calls = itertools.count()


@schemathesis.hook
def before_call(context, case, kwargs):
    """Deletes what was made for it instead of what the rest of the run needs, and in three of four cases instead of what
    never was; and lets three of four creations be no repetitions."""
    rare = next(calls) % 4 == 0
    container, name, make = doomed.get(case.operation.definition.raw.get("operationId"), (None, None, None))
    values = getattr(case, container) if container is not None else None
    value = (values or {}).get(name)
    if isinstance(value, str):
        drawn = well_formed.fullmatch(value) and case.meta is not None and case.meta.phase.name.value != "stateful"
        if value in steady[name] or (drawn and not rare):
            values[name] = make()
    key = (case.headers or {}).get("idempotency-key")
    if isinstance(key, str) and 0 < len(key.strip()) < 200 and not rare:
        case.headers["idempotency-key"] = f"{key}-{next(calls)}"


# Valid requests that the contract refuses with a 400, by the place that the answer names: a document cannot say that
# one part of a request depends on another one.
dependent = {
    # The organization and the project are given together, or neither is.
    "listTravelLocations": {organization},
    # The project of the body is that of the header.
    "patchProject": {"/documentId"},
    # The id names a scope that the headers must lead to; or it ends where the name of the scope does.
    **{
        f"{verb}{kind}": {project, "x-svc-world-id", "path:/id"}
        for verb in ("get", "put", "delete")
        for kind in ("KvStore", "Collection", "LiveConfig")
    },
}
# No document can tell bytes that are a picture from others.
uploads = {"putOrganizationPicture", "putOrganizationPictureById", "putWorldPicture"}


@schemathesis.hook
def filter_failure(context, failure, case, response):
    if not isinstance(failure, RejectedPositiveData):
        return True
    operation_id = case.operation.definition.raw["operationId"]
    if operation_id in uploads:
        return response.status_code not in (400, 415)
    if response.status_code != 400:
        return True
    named = {each["path"] for each in response.json().get("errors", [])}
    return not named or not named <= dependent.get(operation_id, set())


def png(width, height):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    rows = (b"\x00" + b"\x7f" * 3 * width) * height
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


pictures = st.builds(png, st.integers(1, 64), st.integers(1, 64))
damaged = st.tuples(pictures, st.integers(0, 60)).map(lambda drawn: drawn[0][: drawn[1]])
# What a picture is, its bytes say, and not its type: one strategy serves the three.
for media_type in ("image/png", "image/jpeg", "image/webp"):
    schemathesis.openapi.media_type(media_type, pictures | damaged | st.binary(max_size=256))
