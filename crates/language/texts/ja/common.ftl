common-copied = コピーしました
common-copied-with-losses = コピーしました：{ $losses }
common-copy = コピー
common-try-again = 再試行
common-not-now = 後で
common-cancel = キャンセル
common-accept = 受け入れる
common-a-file-dialog-is = ファイルダイアログはすでに開いています。
common-png-picture = PNG画像
common-size = サイズ
common-auto = 自動
common-add = 追加
common-close = 閉じる
common-start-from-this-picture = この画像から開始
common-there-is-no-question = 質問はありません。
common-settings = 設定
common-search = 検索
common-type-a-name-first = まず名前を入力してください。
common-name = 名前
common-start-pictures = { $count ->
       *[other] 開始画像{ $count }枚
    }
