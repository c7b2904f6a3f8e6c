// Creates, starts, reads, lists and deletes a world with the generated client, and prints the result as JSON.
package main

import (
	"context"
	"encoding/json"
	"net/http"
	"os"

	"orrery.dev/clients/orrery"
)

// done returns the value of a successful request.
func done[T any](value T, _ *http.Response, err error) T {
	check(nil, err)
	return value
}

func check(_ *http.Response, err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
	organization, project := os.Getenv("ORRERY_ORGANIZATION"), os.Getenv("ORRERY_PROJECT")
	configuration := orrery.NewConfiguration()
	configuration.Servers = orrery.ServerConfigurations{{URL: os.Getenv("ORRERY_URL")}}
	worlds := orrery.NewAPIClient(configuration).WorldsAPI
	key := map[string]orrery.APIKey{"apiKey": {Key: os.Getenv("ORRERY_KEY")}}
	ctx := context.WithValue(context.Background(), orrery.ContextAPIKeys, key)

	created := done(worlds.CreateWorld(ctx).XSvcOrganizationId(organization).XSvcProjectId(project).
		CreateWorld(*orrery.NewCreateWorld("Lobby", false)).Execute())
	id := created.WorldId
	check(worlds.StartWorld(ctx, id).XSvcOrganizationId(organization).XSvcProjectId(project).Execute())
	read := done(worlds.GetWorld(ctx, id).XSvcOrganizationId(organization).XSvcProjectId(project).Execute())
	list := done(worlds.ListWorlds(ctx).XSvcOrganizationId(organization).XSvcProjectId(project).Execute())
	listed := [][]string{}
	for _, item := range list {
		listed = append(listed, []string{item.World.DocumentId, item.World.Name})
	}
	check(worlds.DeleteWorld(ctx, id).XSvcOrganizationId(organization).XSvcProjectId(project).Execute())
	_, after, _ := worlds.GetWorld(ctx, id).XSvcOrganizationId(organization).XSvcProjectId(project).Execute()
	check(nil, json.NewEncoder(os.Stdout).Encode(map[string]any{
		"created": id, "phase": read.Status.Phase, "listed": listed, "afterDeletion": after.StatusCode,
	}))
}
