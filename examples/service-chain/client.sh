until curl -sf -m 1 -o "$dir/page" "http://$1/"; do sleep 0.05; done
echo "client: the page says: $(cat "$dir/page")" >"$dir/client"
if curl -s -m 1 -o /dev/null "http://$1:81/"; then
  echo "client: port 81 is open" >>"$dir/client"
else
  echo "client: port 81 is closed by the firewall" >>"$dir/client"
fi
