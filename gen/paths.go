package gen

import (
	"fmt"
	"strings"
)

// Names lists the transmit paths of this platform in the order of the table.
func Names() []string {
	names := make([]string, len(Paths))
	for i := range Paths {
		names[i] = Paths[i].Name
	}
	return names
}

// Find returns the row of the table that has the name.
func Find(name string) (*Path, error) {
	for i := range Paths {
		if Paths[i].Name == name {
			return &Paths[i], nil
		}
	}
	return nil, fmt.Errorf("no transmit path %q here; --path takes %s", name, strings.Join(Names(), ", "))
}
