// Creates, starts, reads, lists and deletes a world with the generated client, and prints the result as JSON.
package main

import (
	"context"
	"encoding/json"
	"net/http"
	"os"

	"orrery.dev/clients/orrery"
)

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func main() {
	ctx := context.Background()
	organization, project := os.Getenv("ORRERY_ORGANIZATION"), os.Getenv("ORRERY_PROJECT")
	withKey := func(_ context.Context, request *http.Request) error {
		request.Header.Set("x-api-key", os.Getenv("ORRERY_KEY"))
		return nil
	}
	client := must(orrery.NewClientWithResponses(os.Getenv("ORRERY_URL"), orrery.WithRequestEditorFn(withKey)))

	created := must(client.CreateWorldWithResponse(
		ctx,
		&orrery.CreateWorldParams{XSvcOrganizationId: organization, XSvcProjectId: project},
		orrery.CreateWorld{Name: "Lobby", Transient: false},
	))
	id := created.JSON200.WorldId
	must(client.StartWorldWithResponse(
		ctx, id, &orrery.StartWorldParams{XSvcOrganizationId: organization, XSvcProjectId: project},
	))
	scope := &orrery.GetWorldParams{XSvcOrganizationId: organization, XSvcProjectId: project}
	read := must(client.GetWorldWithResponse(ctx, id, scope))
	list := must(client.ListWorldsWithResponse(
		ctx, &orrery.ListWorldsParams{XSvcOrganizationId: organization, XSvcProjectId: &project},
	))
	listed := [][]string{}
	for _, item := range *list.JSON200 {
		world := must(item.AsWorld())
		listed = append(listed, []string{world.DocumentId, world.Name})
	}
	must(client.DeleteWorldWithResponse(
		ctx, id, &orrery.DeleteWorldParams{XSvcOrganizationId: organization, XSvcProjectId: project},
	))
	after := must(client.GetWorldWithResponse(ctx, id, scope))
	must(0, json.NewEncoder(os.Stdout).Encode(map[string]any{
		"created": id, "phase": read.JSON200.Status.Phase, "listed": listed, "afterDeletion": after.StatusCode(),
	}))
}
