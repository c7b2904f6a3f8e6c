"""Facts about the API that its document cannot express."""

import itertools
import json
import os
import re
import struct
import time
import zlib
from urllib.parse import quote

import requests
import schemathesis
from hypothesis import strategies as st
from schemathesis.core.failures import AcceptedNegativeData
from schemathesis.openapi.checks import RejectedPositiveData

with open(os.environ["ORRERY_FUZZ_FIXTURE"], encoding="utf-8") as file:
    fixture = json.load(file)
base_url, platform_key, ids = fixture["baseUrl"], fixture["platformKey"], fixture["ids"]
organization, project = "x-svc-organization-id", "x-svc-project-id"


@schemathesis.hook
def before_load_schema(context, raw_schema):
    """Limits parameters that are ids to ids that exist, since every random id leads to a 404. Other values are still
    sent, as invalid data. The id of a doomed resource stays a pattern."""
    for path in raw_schema["paths"].values():
        for operation in path.values():
            own = ids["operations"].get(operation["operationId"], {})
            for parameter in operation["parameters"]:
                if parameter["name"] in [name for _, name in doomed.get(operation["operationId"], [None])[1:]]:
                    continue
                known = own.get(parameter["name"]) or ids["parameters"].get(parameter["name"])
                if known is not None:
                    # A scope header that may be left out may be empty.
                    none = [""] if parameter["name"].startswith("x-svc-") and not parameter["required"] else []
                    parameter["schema"] = {"type": "string", "enum": known + none}


def send(method, path, body=None, scope=None):
    """Sends a request with the platform key, in the steady project unless `scope` has other headers."""
    headers = {"x-api-key": platform_key}
    for name in (organization, project):
        headers[name] = ids["parameters"][name][0]
    answer = requests.request(method, base_url + path, json=body, headers={**headers, **(scope or {})}, timeout=20)
    answer.raise_for_status()
    return answer


def make_organization():
    return send("POST", "/api/organizations/", {"name": "Doomed"}).json()["organizationId"]


def make_deleted_organization():
    organization_id = make_organization()
    send("DELETE", f"/api/organizations/{organization_id}/", scope={organization: organization_id})
    return organization_id


def make_project():
    return send("POST", "/api/organizations/projects/", {"name": "Doomed"}).json()["projectId"]


def make_deleted_project():
    project_id = make_project()
    send("DELETE", "/api/organizations/projects/current/", scope={project: project_id})
    return project_id


def make_world():
    return send("POST", "/api/worlds/", {"name": "Doomed", "transient": False}).json()["worldId"]


def make_deleted_world():
    world_id = make_world()
    send("DELETE", f"/api/worlds/{world_id}/")
    return world_id


def make_restorable_world():
    """Returns the id of a deleted world whose resource is gone from the cluster. It needs an operator."""
    world_id = make_deleted_world()
    end = time.monotonic() + 60
    while time.monotonic() < end:
        if any(each["documentId"] == world_id and each["isRestorable"] for each in deleted_worlds()):
            return world_id
        time.sleep(0.1)
    raise TimeoutError(f"The resource of {world_id} still exists after 60 seconds.")


def deleted_worlds():
    path = "/api/worlds/deleted/"
    while path is not None:
        answer = send("GET", path)
        yield from answer.json()
        path = answer.links.get("next", {}).get("url")


def make_bots():
    """Returns the id of a bot deployment. A world has at most 64, so those that the run created go first."""
    path = f"/api/worlds/{ids['parameters']['worldId'][0]}/bots/"
    made = [each["documentId"] for each in send("GET", path).json()]
    if len(made) > 32:
        for bots in set(made) - set(ids["parameters"]["botDeploymentId"]):
            send("DELETE", f"{path}{bots}/")
    return send("POST", path, {"count": 0}).headers["location"].split("/")[-2]


def make_build():
    send("PUT", "/api/builds/main/doomed/", {"image": "registry.example/game/server:1", "contentId": "c"})
    return "doomed"


def make_key():
    send("POST", "/api/organizations/apiKeys/", {"displayName": "Doomed"})
    keys = send("GET", "/api/organizations/apiKeys/").json()
    steady = ids["parameters"]["apiKeyId"]
    return next(each["documentId"] for each in reversed(keys) if each["documentId"] not in steady)


def make_webhook():
    body = {"url": "https://hooks.example.com/", "events": ["api_key.deleted"]}
    return send("POST", "/api/webhooks/", body).json()["documentId"]


in_organization = (("path_parameters", "organizationId"), ("headers", organization))
# Operations that delete, restore or purge a resource: a function that makes one for the operation, and the places of the
# request that name it.
doomed = {
    "deleteOrganization": (make_organization, *in_organization),
    "restoreOrganization": (make_deleted_organization, *in_organization),
    "purgeOrganization": (make_deleted_organization, *in_organization),
    "deleteProject": (make_project, ("headers", project)),
    "restoreProject": (make_deleted_project, ("path_parameters", "projectId")),
    "purgeProject": (make_deleted_project, ("path_parameters", "projectId")),
    "deleteWorld": (make_world, ("path_parameters", "worldId")),
    "restoreWorld": (make_restorable_world, ("path_parameters", "worldId")),
    "purgeWorld": (make_deleted_world, ("path_parameters", "worldId")),
    "deleteBotDeployment": (make_bots, ("path_parameters", "botDeploymentId")),
    "deleteBuild": (make_build, ("path_parameters", "tag")),
    "deleteApiKey": (make_key, ("path_parameters", "apiKeyId")),
    "deleteWebhook": (make_webhook, ("path_parameters", "webhookId")),
}
# A request line with headers above 16 KiB is refused with a 431 before the API sees it, and its connection is reset.
max_head_bytes = 15_000


@schemathesis.hook
def filter_case(context, case):
    values = [*(case.query or {}).items(), *(case.path_parameters or {}).values(), *(case.headers or {}).items()]
    return len(quote(json.dumps(values, ensure_ascii=False, default=str), errors="replace")) < max_head_bytes


steady = {"tag": ["stable"], **ids["parameters"]}
well_formed = re.compile(r"[a-z]{3}-[0-7][0-9a-z]{25}")
calls = itertools.count()


def is_replaceable(value, name, drawn):
    return isinstance(value, str) and (value in steady.get(name, []) or (drawn and well_formed.fullmatch(value)))


def spare_worlds(deletion):
    """Limits a deletion of worlds by filter to doomed ones, unless its filter is invalid."""
    chosen = deletion.get("filter")
    if isinstance(chosen, dict) and isinstance(chosen.get("name", "-"), str) and 0 < len(chosen.get("name", "-")) <= 64:
        chosen["name"] = "Doomed"


@schemathesis.hook
def before_call(context, case, kwargs):
    """Gives each doomed operation a resource of its own: always instead of a steady one, and in three of four cases
    instead of one that never existed. Makes three of four idempotency keys new."""
    rare = next(calls) % 4 == 0
    operation_id = case.operation.definition.raw.get("operationId")
    if operation_id in doomed:
        make, *places = doomed[operation_id]
        named = [(getattr(case, container) or {}, name) for container, name in places]
        drawn = case.meta is not None and case.meta.phase.name.value != "stateful" and not rare
        if all(is_replaceable(values.get(name), name, drawn) for values, name in named):
            value = make()
            for values, name in named:
                values[name] = value
    if operation_id == "actOnWorlds" and isinstance(case.body, dict) and case.body.get("action") == "delete":
        spare_worlds(case.body)
    key = (case.headers or {}).get("idempotency-key")
    if isinstance(key, str) and 0 < len(key.strip()) < 200 and not rare:
        case.headers["idempotency-key"] = f"{key}-{next(calls)}"


# Valid requests that the contract refuses with a 400, by the place that the response names. A document cannot express
# that one part of a request depends on another.
dependent = {
    # The project of the body must be that of the header.
    "patchProject": {"/documentId"},
    # The cursor must be one of the order that `sort` names.
    "listWorlds": {"query:cursor"},
    # The host of a registry is neither an IP address, in any notation, nor a loopback name.
    "patchLimits": {"/imageRegistries"},
    # The format date-time allows years before 1970, and an offset can move the year after 9999.
    **{operation: {"/expiresAt"} for operation in ("createApiKey", "patchApiKey")},
    **{operation: {"query:/since", "query:/until"} for operation in ("listAuditRecords", "listPlatformAuditRecords")},
    # The id names a scope that the headers must name as well, or it consists of the name of the scope alone.
    **{
        f"{verb}{kind}": {project, "x-svc-world-id", "path:/id"}
        for verb in ("get", "put", "delete")
        for kind in ("KvStore", "Collection", "LiveConfig")
    },
}
# Keys that no body may have at any depth, since they could pollute a prototype. The schemas of maps do not repeat it.
refused_keys = ("/__proto__", "/constructor", "/prototype")
# A document cannot describe which bytes are a picture.
uploads = {"putOrganizationPicture", "putOrganizationPictureById", "putWorldPicture"}


entity_tags = re.compile(r'\*|(W/)?"[^"]*"(\s*,\s*(W/)?"[^"]*")*')


@schemathesis.hook
def filter_failure(context, failure, case, response):
    sent = {name.lower(): str(value) for name, value in (case.headers or {}).items()}
    if isinstance(failure, AcceptedNegativeData):
        # The response of a repetition does not depend on its conditions. A malformed If-None-Match names no tag, so it
        # excludes nothing.
        if "idempotency-replayed" in {name.lower() for name in response.headers}:
            return entity_tags.fullmatch(sent.get("if-match", "*")) is not None
        return entity_tags.fullmatch(sent.get("if-none-match", "*")) is not None
    if not isinstance(failure, RejectedPositiveData):
        return True
    if response.status_code in (304, 412):
        return sent.keys().isdisjoint({"if-match", "if-none-match"})
    operation_id = case.operation.definition.raw["operationId"]
    if operation_id in uploads:
        return response.status_code not in (400, 415)
    if response.status_code != 400:
        return True
    named = {re.sub(r"/\d+$", "", each["path"]) for each in response.json().get("errors", [])}
    unexpected = {path for path in named if not path.endswith(refused_keys)} - dependent.get(operation_id, set())
    return not named or len(unexpected) > 0


def png(width, height):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    rows = (b"\x00" + b"\x7f" * 3 * width) * height
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


pictures = st.builds(png, st.integers(1, 64), st.integers(1, 64))
damaged = st.tuples(pictures, st.integers(0, 60)).map(lambda drawn: drawn[0][: drawn[1]])
# The API looks at the bytes of a picture and not at its type, so one strategy serves all three types.
for media_type in ("image/png", "image/jpeg", "image/webp"):
    schemathesis.openapi.media_type(media_type, pictures | damaged | st.binary(max_size=256))
