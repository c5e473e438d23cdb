package tested

type State struct{ X int64 }
