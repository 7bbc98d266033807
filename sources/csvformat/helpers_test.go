package csvformat_test

import (
	"reconciler/sources"
)

func byHeader(name string) *sources.Field {
	return &sources.Field{Column: &sources.Column{Header: name}}
}

func byNumber(number int) *sources.Field {
	return &sources.Field{Column: &sources.Column{Number: number}}
}

func constant(value string) *sources.Field { return &sources.Field{Value: &value} }

func withMap(f *sources.Field, words map[string]string) *sources.Field {
	f.Map = words
	return f
}

func withLayout(f *sources.Field, layout string) *sources.Field {
	f.Layout = layout
	return f
}

func withNumber(f *sources.Field, decimal, group string) *sources.Field {
	f.Decimal, f.Group = decimal, group
	return f
}
