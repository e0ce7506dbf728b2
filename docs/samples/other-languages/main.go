package main

import (
	"context"
	"fmt"
	"os"

	"tiba"
)

func main() {
	configuration := tiba.NewConfiguration()
	configuration.Servers = tiba.ServerConfigurations{{URL: os.Getenv("TIBA_URL")}}
	client := tiba.NewAPIClient(configuration)
	ctx := context.Background()
	token, _, err := client.LoginApi.CreateAccessToken(ctx).GrantType("client_credentials").
		ClientId(os.Getenv("TIBA_CLIENT_ID")).ClientSecret(os.Getenv("TIBA_CLIENT_SECRET")).Execute()
	check(err)
	fmt.Println("token", token.TokenType, token.ExpiresIn)
	ctx = context.WithValue(ctx, tiba.ContextAccessToken, token.AccessToken)

	account, _, err := client.AccountValidationApi.CheckAccount(ctx).
		AccountCheck(tiba.AccountCheck{BankCode: "BCA", AccountNumber: "1234567890"}).Execute()
	check(err)
	fmt.Println("account", account.Data.Status, *account.Data.AccountName.Get())
	status, _, err := client.DisbursementStatusApi.CheckStatus(ctx, "INV/2026/001").Execute()
	check(err)
	fmt.Println("status", status.Data.Status, status.Data.Amount)
	page, _, err := client.DisbursementStatusApi.ListTransactions(ctx).Limit(10).Execute()
	check(err)
	for _, transaction := range page.Data.Transactions {
		fmt.Println("list", transaction.ReferenceId)
	}
	_, response, err := client.DisbursementStatusApi.CheckStatus(ctx, "NONE").Execute()
	if failure, ok := err.(tiba.GenericOpenAPIError); ok {
		fmt.Println("error", response.StatusCode, failure.Model().(tiba.Error).ErrorCode)
	}
}

func check(err error) {
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}
