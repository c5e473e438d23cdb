package golden

// Complaints are what Hold says.
var Complaints = complaints
