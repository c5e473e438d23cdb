package page

import (
	"encoding/json"
	"io/fs"
	"net/http"
)

// filesOf serves the game's files and the shared ones behind them.
func filesOf(c *Config) (http.Handler, error) {
	web, err := fs.Sub(shared, "web")
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("GET /", http.FileServerFS(layers{c.Files, web}))
	if c.World != nil {
		world, err := json.Marshal(c.World)
		if err != nil {
			return nil, err
		}
		mux.HandleFunc("GET /world.json", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(world) // there is nobody to tell
		})
	}
	return mux, nil
}

// layers is a folder that is looked through the next one where it has no such file.
type layers []fs.FS

// Open is for fs.FS.
func (l layers) Open(name string) (file fs.File, err error) {
	err = &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	for _, folder := range l {
		if folder == nil {
			continue
		}
		if file, err = folder.Open(name); err == nil {
			return file, nil
		}
	}
	return nil, err
}
